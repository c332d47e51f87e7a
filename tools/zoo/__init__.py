"""Makes the table of named models: each is built with random weights, run once without computing, and written down."""

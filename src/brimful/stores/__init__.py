"""Hold objects by key; one file per back-end."""

"""Read a model's file into what it costs to compute; one file per back-end."""

"""The verbs: the Python API, one function each; every one returns the record that the command line prints."""

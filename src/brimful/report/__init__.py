"""Reports: they draw what the records say, and send nothing."""

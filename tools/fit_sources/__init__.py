"""One module for each source of measurements: from its rows, as they were gathered, to `Row`."""

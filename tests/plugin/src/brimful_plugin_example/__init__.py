"""A back-end for brimful in a package of its own."""

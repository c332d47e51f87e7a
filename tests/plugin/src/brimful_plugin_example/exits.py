"""A bad neighbour: ends the program when it is imported."""

import sys

sys.exit("ended on purpose, at import")

"""`python -m brimful` is the command line."""

from brimful.cli import main

main()

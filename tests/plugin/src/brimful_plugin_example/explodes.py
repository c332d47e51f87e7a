"""A bad neighbour: raises when it is imported."""

raise ZeroDivisionError("raised on purpose, at import")

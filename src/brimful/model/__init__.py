"""The nouns and the units; the standard library only."""

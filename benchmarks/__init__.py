"""Measurements of brimful itself: commands that print figures, never tests that time."""

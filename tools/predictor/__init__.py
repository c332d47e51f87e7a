"""Trains the predictor of `brimful fit` from published measurements, and tells how far off it is."""

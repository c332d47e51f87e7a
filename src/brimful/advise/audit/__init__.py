"""The audit: holds what is known of a fleet against the 92 practices. Pure; see judge.py for the way through."""

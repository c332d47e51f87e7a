"""The journal: one directory per run, one typed record per line, and nothing lost that was reported as written."""

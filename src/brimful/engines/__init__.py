"""Run workloads; one file per back-end."""

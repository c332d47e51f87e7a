"""Which hardware for a workload: pure functions from what it costs and what devices are to what to rent."""

"""Which hardware for a workload: what limits it, what it costs, and how sure that is. Pure functions of figures."""

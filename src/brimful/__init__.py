"""brimful: every device right for its job, full while it runs, gone when the job is done."""

"""Answer what devices did in the past; one file per back-end."""

"""Know rented machines and act on them; one file per back-end."""

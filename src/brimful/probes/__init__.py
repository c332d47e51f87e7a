"""See devices and what they are doing; one file per back-end."""

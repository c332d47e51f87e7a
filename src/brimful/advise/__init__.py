"""Advice: pure functions over records; nothing here touches hardware, a network or a file."""

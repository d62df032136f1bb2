"""Which index each hot function reads, by name."""

"""Routes of operations."""

"""Concurrency, crashes and recovery."""

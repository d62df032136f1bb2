"""Logs, metrics, traces, and whether the process can serve."""

"""Promises of the REST interface, over a running service."""

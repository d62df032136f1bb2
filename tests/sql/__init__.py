"""Promises of the SQL functions, called as the restricted role."""

"""Namespaces, their settings, and whether what they promise holds."""

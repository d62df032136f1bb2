"""Hierarchy: memories above and under others."""

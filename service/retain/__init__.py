"""Retain (what becomes of the facts of a text) and reflect (orphans placed)."""

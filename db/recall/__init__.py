"""Recall: search, the lexical index, and the log of recalls."""

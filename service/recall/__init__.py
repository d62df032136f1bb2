"""Recall: hybrid search, its explanations, and the log of recalls."""

"""A year of a team of agents in half an hour: `python -m tests.year` lives it, and asks every promise that can be asked.

Valid times go through a year; what is recorded is recorded now. What must be true is kept beside it, in plain Python.
"""

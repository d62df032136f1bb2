"""Texts: names, numbers, dates and sentences in them, and what a text that stands for others must keep."""

"""Cells: commands for an installation of several servers, and what a router needs to know of them."""

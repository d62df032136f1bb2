"""Cells: several whole Locis whose databases know each other's agents, and between which namespaces move."""

"""Routes of the graph."""

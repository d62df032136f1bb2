"""Facts: aspects, attributes, constraints, supersession, and the walk over them."""

"""Tools of agents, by subject; `catalogue` lists them."""

"""Memory for agents that one already has: their programs' configuration (`loci connect`), and their hooks (`loci hook`)."""

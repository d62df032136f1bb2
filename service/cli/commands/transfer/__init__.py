"""`loci export` and `loci import`."""

"""`loci model` and `loci reembed`."""

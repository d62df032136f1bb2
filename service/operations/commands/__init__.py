"""`loci operation`, `loci watch`."""

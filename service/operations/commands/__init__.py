"""`loci operations`, `loci undo`, `loci watch`."""

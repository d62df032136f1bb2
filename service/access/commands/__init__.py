"""`loci key`, `loci grant`, `loci analyst`."""

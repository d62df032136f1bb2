"""`loci key`, `loci grant`, `loci invitation`, `loci analyst`."""

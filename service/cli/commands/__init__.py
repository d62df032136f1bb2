"""Commands of `loci`, by subject: clients of the service."""

"""Work that is done later: jobs in Postgres, taken off a queue by any number of workers."""

"""The background worker, and what it does for each kind of job."""

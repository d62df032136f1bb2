"""The test suite: promises, kept on a real PostgreSQL."""

"""What makes the service and the tests slow or fast, to find tests that race each other."""

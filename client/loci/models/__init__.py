"""Models of requests and replies, by subject."""

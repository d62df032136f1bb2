"""Methods of both clients, by subject."""

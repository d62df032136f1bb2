"""The repository itself: where things stand, how they are named, and that every name leads somewhere."""

"""What was released stays as it was: revisions by their hash, databases by an upgrade of one that each version made."""

"""Operations: the log, undoing, and the change feed."""

"""Files of other memory systems: told apart by their content, read as neutral records, written in one way. See docs/transfer.md."""

"""Pages of docs/ that say of the code what can be checked."""

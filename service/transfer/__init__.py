"""Transfer: a namespace as JSON lines, written and restored; loose lines loaded."""

"""The process that reads what an import brings, and how the service speaks with it; see docs/security.md."""

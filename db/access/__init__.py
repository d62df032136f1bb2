"""Access: analysts, grants and API keys."""

"""Access: API keys, grants, analysts, rate limits."""

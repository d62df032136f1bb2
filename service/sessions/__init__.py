"""Sessions: working memory, conversations, contexts, and feedback at their end."""

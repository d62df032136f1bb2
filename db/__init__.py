"""The only Python that runs statements: a pool, one typed wrapper per SQL function, and the errors they raise."""

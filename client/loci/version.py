"""The version of client and server: one for both."""

__version__ = "0.1.0"

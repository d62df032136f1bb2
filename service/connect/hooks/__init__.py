"""Hooks that programs run at moments of a conversation. Everything here is loaded each time, so it imports little."""

"""The wheels of client and server, installed outside of the checkout."""

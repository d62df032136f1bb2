"""The command line `loci`: what all commands share, and those that serve the whole."""

"""What tests of exports and imports write: a namespace with something of everything, and files of other systems."""

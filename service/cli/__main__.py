"""`python -m service.cli` is `loci`."""

from service.cli import main

main()

"""`python -m service.cli` is `loci`."""

from service.cli.main import main

main()

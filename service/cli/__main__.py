"""`python -m service.cli` is `loci`."""

from service.cli.start import main

main()

"""`python -m prefixlab`."""

from prefixlab.cli import main

main()

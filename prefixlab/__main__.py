"""`python -m prefixlab`."""

from prefixlab.cli import entry

entry()

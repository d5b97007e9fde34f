"""`python -m evenflow`."""

from .cli import main

main()

"""`python -m tricel`."""

from .cli import main

main(prog_name="tricel")

"""`python -m tricel`."""

from tricel.cli import main

main(prog_name="tricel")

"""``python -m disclique`` is the same as ``disclique``."""

from disclique.cli import main

main()

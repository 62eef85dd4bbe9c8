"""Run the command line: `python -m commonplace`."""

from commonplace.cli.main import main

main()

"""The command line of `synthesise`, one option for each of its parameters."""

import argparse
import inspect

from ccreport.__main__ import add_options
from ccreport.core.errors import InputError

from .synthesise import synthesise


def main() -> None:
    summary = (inspect.getdoc(synthesise) or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.synthesise", description=summary)
    add_options(parser, synthesise)
    options = vars(parser.parse_args())
    try:
        synthesise(**options)
    except InputError as error:
        parser.exit(1, f"synthesise: {error}\n")


if __name__ == "__main__":
    main()

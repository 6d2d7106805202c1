"""The command line of `synthesise`, one option for each of its parameters."""

import inspect
import sys

from ccreport.__main__ import CommandParser, add_options
from ccreport.core.errors import InputError

from .synthesise import synthesise


def main() -> None:
    summary = (inspect.getdoc(synthesise) or "").partition("\n")[0]
    parser = CommandParser(prog="python -m benchmarks.synthesise", description=summary)
    add_options(parser, synthesise)
    parser.refuse_options(sys.argv[1:])
    options = vars(parser.parse_args())
    try:
        synthesise(**options)
    except InputError as error:
        parser.exit(1, f"synthesise: {error}\n")
    folder = options["folder"]
    print(f"wrote {folder}, and the answers into {folder}.key; `make report ARCHIVE={folder}` reports on it")


if __name__ == "__main__":
    main()

"""Command line: one subcommand per rule, of the same name, and some for people, who read one format
or draw one figure by hand; no logic of its own.

A subcommand's options are the parameters of the function behind it, so that the two cannot drift apart.
"""

import argparse
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, Final

from ccreport.archive import find_root
from ccreport.errors import NO_ROOM, InputError
from ccreport.parents import end_with_build

COMMANDS: Final = {
    "collect": "ccreport.collect.collect",
    "fetch_archive": "ccreport.storage.fetch",
    "list_raw_files": "ccreport.inventory",
    "compile_kernels": "ccreport.ingest.kernels",
    "ingest_batch": "ccreport.ingest.batch",
    "ingest_iperf3": "ccreport.ingest.iperf3",
    "ingest_ss": "ccreport.ingest.ss",
    "ingest_mpstat": "ccreport.ingest.mpstat",
    "ingest_metadata": "ccreport.ingest.metadata",
    "ingest_edge": "ccreport.ingest.edge",
    "ingest_nginx": "ccreport.ingest.nginx",
    "ingest_nstat": "ccreport.ingest.nstat",
    "ingest_rpc": "ccreport.ingest.rpc",
    "ingest_campaign": "ccreport.ingest.campaigns",
    "measure_batch": "ccreport.measure.batch",
    "measure_ledger": "ccreport.measure.ledger",
    "list_views": "ccreport.database",
    "summarise_tables": "ccreport.summarise",
    "store_results": "ccreport.store",
    "synthesise": "ccreport.synthesise.synthesise",
    "compare_tables": "ccreport.reproduction.compare",
    "judge_claims": "ccreport.claims",
    "trace_cells": "ccreport.report.cells",
    "explain": "ccreport.explain",
    "plot_figures": "ccreport.figures.write",
    "plot_figure": "ccreport.figures.write",
    "export_runs": "ccreport.explorer.export",
    "list_sections": "ccreport.list_sections",
    "render_fragments": "ccreport.report.fragments",
    "render_performance": "ccreport.report.performance",
    "render_reference": "ccreport.report.reference",
    "render_paper": "ccreport.report.paper",
    "render_report": "ccreport.report.render",
    "publish": "ccreport.publish.release",
    "compare_former": "ccreport.publish.former",
    "upload": "ccreport.publish.upload",
    "verify": "ccreport.verify.verify",
    "diff": "ccreport.verify.diff",
    "import_harness_ini": "ccreport.collect.harness_ini",
}
# It is no part of a build: it ends the attempt that is under way, and takes down what it has set up.
TAKES_DOWN: Final = "collect"


def find_command(name: str) -> Callable[..., int | None]:
    """Return the function behind a subcommand; what it returns, if anything, is the program's exit status."""
    command: Callable[..., int | None] = getattr(importlib.import_module(COMMANDS[name]), name)
    return command


def add_options(parser: argparse.ArgumentParser, command: Callable[..., int | None]) -> None:
    """Give a parser one option for each parameter of a function; a bool becomes a switch, a list takes many values.

    A parameter that is positional only becomes an argument; one that has a default may be left out.
    """
    for name, parameter in inspect.signature(command).parameters.items():
        option, kind = f"--{name.replace('_', '-')}", parameter.annotation
        if parameter.kind is parameter.POSITIONAL_ONLY:
            parser.add_argument(name, type=kind)
        elif kind is bool:
            parser.add_argument(option, action=argparse.BooleanOptionalAction, default=False)
        elif kind in (list[Path], list[str]):
            parser.add_argument(option, type=kind.__args__[0], nargs="*", required=True)
        else:
            required = parameter.default is parameter.empty
            parser.add_argument(option, type=kind, required=required, default=None if required else parameter.default)


def add_commands(parser: argparse.ArgumentParser, names: Collection[str]) -> dict[str, argparse.ArgumentParser]:
    """Give a parser all subcommands, those of these names with their options, and return the parsers of all."""
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="command")
    made = {}
    for name in COMMANDS:
        # Only the module of the command that is run is imported: start-up is most of a small job's time.
        command = find_command(name) if name in names else None
        summary = (inspect.getdoc(command) or "").partition("\n")[0] if command else None
        made[name] = subparsers.add_parser(name, description=summary)
        if command:
            add_options(made[name], command)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand; return 1, with one line on stderr, for what its user can mend."""
    parser = argparse.ArgumentParser(prog="ccreport", description=__doc__)
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] != [TAKES_DOWN]:
        end_with_build()
    add_commands(parser, given[:1])
    options: dict[str, Any] = vars(parser.parse_args(given))
    command = find_command(options.pop("command"))
    if "root" in options:
        options["root"] = find_root(options["root"])
    try:
        parameters = inspect.signature(command).parameters.items()
        positional = [options.pop(name) for name, one in parameters if one.kind is one.POSITIONAL_ONLY]
        status = command(*positional, **options)
        sys.stdout.flush()
        return status or 0
    except InputError as error:
        print(f"ccreport: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # Whoever read the output has seen enough, as `head` does; nothing more is to be written at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        print(f"ccreport: {error}: make room there and give the same command again", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

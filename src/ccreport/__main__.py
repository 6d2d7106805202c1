"""Command line: one subcommand per rule, of the same name, and some for people, who ask about results, read one format
or draw one figure by hand; no logic of its own.

A subcommand's options are the parameters of the function behind it, so that the two cannot drift apart.
"""

import argparse
import ast
import importlib
import inspect
import math
import os
import re
import signal
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NoReturn, get_origin

from ccreport.archive.harness_layout import find_root
from ccreport.core.errors import InputError, explain_unwritten
from ccreport.core.schema_problems import find_near, guess, guess_near
from ccreport.workflow_fixes.orphans import end_with_build

# Commands in the order of the list that `--help` shows, each with the module of its function.
FOR_PEOPLE: Final = {
    "adopt": "ccreport.adopt.adopt",
    "ingest": "ccreport.inventory.single_files",
    "explain": "ccreport.trace.explain",
    "sql": "ccreport.trace.sql",
    "export": "ccreport.trace.export",
    "verify": "ccreport.verify.verify",
    "diff": "ccreport.verify.diff",
    "plan_runs": "ccreport.trace.plan_runs",
    "upload": "ccreport.publish.upload",
    "collect": "ccreport.collect.collect",
    "compare_kernels": "ccreport.compare_kernels.compare_kernels",
    "replay_run": "ccreport.collect.replay",
    "pack_sessions": "ccreport.collect.pack_sessions",
    "build_kernel": "ccreport.collect.kernel.build_kernel",
    "import_harness_ini": "ccreport.collect.harness_ini.import_ini",
    "plot_figure": "ccreport.trace.plot_figure",
}
# What the rules of the same names call.
FOR_RULES: Final = {
    "fetch_archive": "ccreport.storage.fetch",
    "list_raw_files": "ccreport.inventory.inventory",
    "compile_kernels": "ccreport.ingest.kernels",
    "ingest_batch": "ccreport.ingest.batch",
    "measure_batch": "ccreport.measure.batch",
    "measure_suspects": "ccreport.measure.suspects.measure",
    "measure_ledger": "ccreport.measure.ledger",
    "list_rejects": "ccreport.measure.ledger",
    "list_views": "ccreport.summarise.database",
    "summarise_tables": "ccreport.summarise.summarise",
    "store_results": "ccreport.publish.store",
    "compare_tables": "ccreport.compare.reproduction",
    "judge_claims": "ccreport.compare.claims",
    "trace_cells": "ccreport.report.fragments.cells",
    "plot_figures": "ccreport.figures.write",
    "plot_reproduction": "ccreport.report.first_page.plot",
    "export_runs": "ccreport.explorer.export",
    "list_sections": "ccreport.summarise.sections",
    "render_fragments": "ccreport.report.fragments.render",
    "render_performance": "ccreport.report.performance.render",
    "render_reference": "ccreport.report.reference",
    "render_paper": "ccreport.report.pdf.render",
    "render_report": "ccreport.report.site.render",
    "publish": "ccreport.publish.release",
    "compare_former": "ccreport.publish.changes.former",
}
COMMANDS: Final = FOR_PEOPLE | FOR_RULES
EXAMPLES: Final = {
    "adopt": "adopt path/to/files --check",
    "ingest": "ingest ss run1_ss.txt --output samples.csv",
    "explain": 'explain table_2 --row "test_group=0.1 % loss" --column "algorithm=BBR"',
    "sql": 'sql "SELECT job, rtt_ms, algorithm, avg(goodput_bps) FROM measured GROUP BY ALL"',
    "export": "export RUN --qlog --output run.qlog",
    "verify": "verify https://host.example/release/1/ --html verified.html",
    "diff": "diff results/release/1 results/release/2",
    "plan_runs": "plan_runs --difference-pct 10",
    "upload": "upload --release results/release/1 --target s3://bucket/releases",
    "collect": "collect --campaign campaigns/quick.yaml --dry-run",
    "compare_kernels": "compare_kernels tcp_cubic.hystart=1 tcp_cubic.hystart=0 --campaign campaigns/hystart.yaml",
    "plot_figure": "plot_figure --evaluation esnet-dtn --figure figure_4 --output figure_4",
}
# What a command exits with that could not do what it was asked for, where 1 or 2 is something that it found.
FAILED_EXITS: Final = {"verify": 2, "diff": 2, "compare_kernels": 3, "replay_run": 2}
GROUPS: Final = {"commands for people": FOR_PEOPLE, "called by the rules of a build": FOR_RULES}
PROGRAM: Final = "python -m ccreport"
DESCRIPTION: Final = "What a build made, explained, queried and checked; and the commands that builds consist of."
SENTENCE_END: Final = re.compile(r"(?<=[.;])\s+(?=[`A-Z])")
# What a docstring says to whoever calls the function.
FOR_CALLERS: Final = re.compile(r"\s*\bRaise\s+[A-Z]\w+Error\b.*?\.(?=\s|$)", re.DOTALL)
# argparse: "the following arguments are required: --campaign, --archive"
MISSING: Final = re.compile(r"the following arguments are required: (.+)")
# argparse: "argument --clock: invalid choice: 'vitual' (choose from '', 'virtual', 'real')"
CHOICE: Final = re.compile(r"argument (\S+): invalid choice: '(.*)' \(")
NUMBER: Final = re.compile(r"argument (\S+): invalid (int|float) value: '(.*)'")
LISTS: Final = (list[Path], list[str], Sequence[str])


class CommandParser(argparse.ArgumentParser):
    """A parser that says in one line what is wrong and what to type."""

    def error(self, message: str, meant: str = "") -> NoReturn:
        """End with the line, in place of the whole usage, as the command ends that is called or meant."""
        command = self.prog.removeprefix(PROGRAM).strip()
        if missing := MISSING.match(message):
            message = self._describe_missing(command, missing[1].split(", "))
        if refused := CHOICE.match(message):
            choices = next(action.choices or () for action in self._actions if refused[1] in action.option_strings)
            meant = guess(refused[2], filter(None, choices))
            message = f"{refused[1]}: `{refused[2]}` is not one of its values{meant}"
        if refused := NUMBER.match(message):
            message = f"{refused[1]}: `{refused[3]}` is not a {'whole number' if refused[2] == 'int' else 'number'}"
        place, end = f"{command}: " if command else "", "" if message.endswith("?") else "."
        said = f"ccreport: {place}{message.removesuffix('.')}{end} --help lists all.\n"
        self.exit(FAILED_EXITS.get(command or meant, 2), said)

    def _describe_missing(self, command: str, names: Sequence[str]) -> str:
        if command in FOR_RULES:
            target = " publish" if command == "publish" else ""
            return f"needs {', '.join(names)}, which a build gives it; type `snakemake --cores 8{target}`"
        if command in EXAMPLES:
            return f"needs {', '.join(names)}; for example `{PROGRAM} {EXAMPLES[command]}`"
        helps = {"/".join(each.option_strings) or each.dest: (each.help or "").rstrip(".") for each in self._actions}
        return f"needs {'; '.join(': '.join(filter(None, (name, helps.get(name)))) for name in names)}"

    def refuse_options(self, given: Sequence[str]) -> None:
        """End where a word is an option that there is not, before argparse misses another one for it."""
        known = [name for action in self._actions for name in action.option_strings]
        for word in given[: given.index("--")] if "--" in given else given:
            option = word.partition("=")[0]
            if re.match(r"--?[A-Za-z]\S*$", option) and not any(name.startswith(option) for name in known):
                self.error(f"no option `{option}`{guess_near(option, known)}")

    def refuse_unknown(self, given: Sequence[str], typed: Sequence[str]) -> None:
        """End where arguments of those typed are left that are neither options nor expected; the first is named."""
        if given:
            is_text = typed[0] in ("explain", "sql") and "=" not in given[0]
            example = f'{typed[0]} "{" ".join(typed[1:]).partition(" -")[0]}"' if is_text else EXAMPLES.get(typed[0])
            as_in = f", as in `{PROGRAM} {example}`" if example else ""
            self.error(f"one argument too many, `{given[0]}`; put what has blanks in quotes{as_in}")

    def refuse_negative(self, options: Mapping[str, Any]) -> None:
        """End where a number is below 0 or is not one: no option means anything by it."""
        for name, value in options.items():
            if isinstance(value, int | float) and not 0 <= value < math.inf:
                self.error(
                    f"--{name.replace('_', '-')}: {value} is {'below 0' if value < 0 else 'not a finite number'}"
                )


def find_command(name: str) -> Callable[..., int | None]:
    """Return the function behind a subcommand; what it returns, if anything, is the program's exit status."""
    command: Callable[..., int | None] = getattr(importlib.import_module(COMMANDS[name]), name)
    return command


def add_options(parser: argparse.ArgumentParser, command: Callable[..., int | None]) -> None:
    """Give a parser one option for each parameter of a function; a bool becomes a switch, a list takes many values.

    A parameter that is positional only becomes an argument; one that has a default may be left out. Its help is what
    the function's docstring says of it.
    """
    said = read_about(command)
    for name, parameter in inspect.signature(command).parameters.items():
        option, kind = f"--{name.replace('_', '-')}", parameter.annotation
        required = parameter.default is parameter.empty
        default = None if required else parameter.default
        help_text = describe_option(said, name)
        if default not in (None, "", False, (), Path()):
            help_text = f"{help_text} (default: {default})".strip()
        # argparse fills in what follows a per cent sign.
        about = help_text.replace("%", "%%")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            count = "+" if kind in LISTS else None if required else "?"
            kind = kind.__args__[0] if kind in LISTS else kind
            parser.add_argument(name, type=kind, nargs=count, default=default, help=about)
        elif kind is bool:
            # Rules say either in any case, people only what they want.
            action: Any = "store_true" if parser.prog.split()[-1] in FOR_PEOPLE else argparse.BooleanOptionalAction
            parser.add_argument(option, action=action, default=False, help=about)
        elif kind in LISTS:
            # An option given twice has the values of both.
            listed = parser.add_argument(option, type=kind.__args__[0], nargs="*", action="extend", help=about)
            listed.required, listed.default = required, default if default is None else [*default]
        elif get_origin(kind) is Literal:
            facts = {"choices": kind.__args__, "metavar": name.upper(), "required": required, "default": default}
            parser.add_argument(option, action=Once, help=about, **facts)
        else:
            kind = kind.__args__[0] if kind in (Path | None, str | None) else kind
            parser.add_argument(option, action=Once, type=kind, required=required, default=default, help=about)


class Once(argparse.Action):
    """An option that is given once: argparse would take the last of several without a word."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:  # noqa: D102
        if self.const:
            parser.error(f"{option_string} is given twice; it takes one value")
        self.const = True
        setattr(namespace, self.dest, values)


def read_about(command: Callable[..., int | None]) -> str:
    """Return what the docstring of a subcommand's function says to people, without the errors that it raises."""
    return FOR_CALLERS.sub("", inspect.getdoc(command) or "")


def describe_option(said: str, name: str) -> str:
    """Return the sentences of what is said of a subcommand that name a parameter in backticks."""
    sentences = SENTENCE_END.split(" ".join(said.split()))
    about = [sentence for sentence in sentences[1:] if f"`{name}`" in sentence]
    return re.sub(rf"^`{name}` (is |are )?", "", " ".join(about)).removesuffix(";")


def read_summary(name: str) -> str:
    """Return the first line of the docstring of a subcommand's function, without importing its module."""
    module = Path(__file__).parent.joinpath(*COMMANDS[name].split(".")[1:])
    source = module / "__init__.py" if module.is_dir() else module.with_suffix(".py")
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return (ast.get_docstring(node) or "").partition("\n")[0]
    return ""


def describe_commands() -> str:
    """Return all subcommands, those for people first, one line each."""
    width = max(map(len, COMMANDS))
    return "\n\n".join(
        f"{title}:\n" + "\n".join(f"  {name:{width}}  {read_summary(name)}" for name in names)
        for title, names in GROUPS.items()
    )


def add_commands(parser: argparse.ArgumentParser, names: Collection[str]) -> dict[str, CommandParser]:
    """Give a parser all subcommands, those of these names with their options, and return the parsers of all."""
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=CommandParser)
    made: dict[str, CommandParser] = {}
    for name in COMMANDS:
        # Only the module of the command that is run is imported: start-up is most of a small job's time.
        command = find_command(name) if name in names else None
        summary = (inspect.getdoc(command) or "").partition("\n")[0] if command else None
        example = f"example: {PROGRAM} {EXAMPLES[name]}" if name in EXAMPLES else None
        made[name] = subparsers.add_parser(name, description=summary, epilog=example)
        if command:
            add_options(made[name], command)
    return made


class Parser(CommandParser):
    """The parser of the command line; its help lists the commands, which it looks up only then."""

    def format_help(self) -> str:
        """Return usage and commands."""
        ask = "python -m ccreport COMMAND --help says what a command takes"
        return f"{self.format_usage()}\n{self.description}\n\n{describe_commands()}\n\n{ask}.\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand; return 1, or what FAILED_EXITS has, with one line on stderr, for what its user can mend."""
    parser = Parser(prog=PROGRAM, description=DESCRIPTION)
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given and not given[0].startswith("-") and given[0] not in COMMANDS:
        parser.error(f"no command `{given[0]}`{guess_near(given[0], COMMANDS)}", find_near(given[0], COMMANDS) or "")
    # It is not part of a build: it ends the attempt that is under way, and takes down what it has set up.
    if given[:1] != ["collect"]:
        end_with_build()
    commands = add_commands(parser, given[:1])
    if given[:1] and given[0] in commands:
        commands[given[0]].refuse_options(given[1:])
    parsed, unknown = parser.parse_known_args(given)
    options: dict[str, Any] = vars(parsed)
    commands[options["command"]].refuse_unknown(unknown, given)
    commands[options["command"]].refuse_negative(options)
    command = find_command(name := options.pop("command"))
    options |= {"root": find_root(options["root"])} if "root" in options else {}
    try:
        parameters = inspect.signature(command).parameters.items()
        positional = [options.pop(name) for name, one in parameters if one.kind is one.POSITIONAL_ONLY]
        status = command(*positional, **options)
        sys.stdout.flush()
        return status or 0
    except InputError as error:
        told: str | None = str(error)
    except BrokenPipeError:
        # Whoever read the output has seen enough, as `head` does; what a command that judges would have found is open.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0 if inspect.signature(command).return_annotation is None else 128 + signal.SIGPIPE
    except OSError as error:
        if (told := explain_unwritten(error, options)) is None:
            raise
    print(f"ccreport: {told}", file=sys.stderr)
    return FAILED_EXITS.get(name, 1)


if __name__ == "__main__":
    sys.exit(main())

"""The reference of the documents: the keys of config.yaml and of figures as their schemas declare them, the subcommands
as their parsers take them, each with what the function behind it says of itself, and the views and queries of the
database.
"""

import argparse
import importlib
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from ccreport.core.atomic_files import replaces_folder
from ccreport.core.declarations import SCHEMAS, load_yaml
from ccreport.core.text import make_label
from ccreport.figures.select.declaration import KINDS_OF_KEY, RUN_KINDS
from ccreport.report.archive_fragments.campaign_keys import list_keys, render_keys
from ccreport.report.database_reference import render_queries, render_views
from ccreport.report.markup.blocks import (
    Html,
    close_fold,
    markdown,
    open_fold,
    prose,
    render_table,
    verbatim,
    write_fragment,
)
from ccreport.summarise.view_columns import open_empty

OPTIONS: Final = ("Option", "Value", "Default")
FIGURE_KEYS: Final = ("Key", "Meaning", "Kinds", "Example")


@replaces_folder("output")
def render_reference(output: Path) -> None:
    """Write the fragments of keys, commands, views and queries, the same for every archive, into a folder."""
    write_fragment(output, "config_keys.md", render_config_keys())
    write_fragment(output, "commands.md", render_commands())
    write_fragment(output, "figure_keys.md", render_figure_keys())
    with open_empty() as connection:
        write_fragment(output, "views.md", render_views(connection))
        write_fragment(output, "queries.md", render_queries(connection))


def render_config_keys() -> str:
    """Return one table of all keys of config.yaml."""
    schema = load_yaml(SCHEMAS / "config.schema.yaml")
    return render_keys(list_keys(schema["properties"]), "Keys of config.yaml")


def render_figure_keys() -> str:
    """Return one table of what an evaluation may declare of a figure, with the kinds that take it and an example."""
    schema = load_yaml(SCHEMAS / "evaluation.schema.yaml")["properties"]["figures"]["additionalProperties"]
    rows = [
        [verbatim(key), prose(facts["description"]), _list_kinds(key), _show_example(key, facts)]
        for key, facts in schema["properties"].items()
    ]
    table = render_table(FIGURE_KEYS, rows, title="Keys of a figure", is_text=True)
    return f"{table}\n\nThose of a run over time are {_name_kinds(RUN_KINDS)}.\n"


def _list_kinds(key: str) -> Html:
    kinds = KINDS_OF_KEY.get(key)
    if kinds is None:
        return prose("all")
    # Ten names in three cells would be most of the table.
    over_time = ["those of a run over time"] if kinds >= RUN_KINDS else []
    return prose(", ".join([*over_time, _name_kinds(kinds - RUN_KINDS if over_time else kinds)]))


def _name_kinds(kinds: Iterable[str]) -> str:
    return ", ".join(f"`{kind}`" for kind in sorted(kinds))


def _show_example(key: str, facts: Mapping[str, Any]) -> Html:
    """Return a line of YAML with the schema's example of a key."""
    example = {key: facts["examples"][0]}
    line = yaml.safe_dump(example, default_flow_style=True, sort_keys=False, width=math.inf).strip()[1:-1]
    return verbatim(line, is_long=True)


def render_commands() -> str:
    """Return one section for each subcommand."""
    # The command line names this module, and this one the command line: only the former can do so by an import.
    line = importlib.import_module("ccreport.__main__")
    parsers = line.add_commands(argparse.ArgumentParser(prog="ccreport"), line.COMMANDS)
    return "\n".join(
        _render_command(name, line.read_about(line.find_command(name)), parser) for name, parser in parsers.items()
    )


def _render_command(name: str, said: str, parser: argparse.ArgumentParser) -> str:
    # Paragraphs of docstrings are ours: words, and names in backticks.
    paragraphs = [markdown(" ".join(part.split())) for part in said.split("\n\n")]
    options = [action for action in parser._actions if action.dest != "help"]  # argparse lists them nowhere else
    table = render_table(OPTIONS, [_make_row(action) for action in options], title=f"Options of {name}")
    first, *others = paragraphs or [""]
    fold = open_fold(f"{len(options)} option{'' if len(options) == 1 else 's'}")
    heading = f"## {name} {{#{make_label('command', name)}}}"
    return "\n\n".join((heading, first, fold, *others, table, close_fold())) + "\n"


def _make_row(action: argparse.Action) -> list[Html]:
    names = [prose(", ".join(f"`{option}`" for option in action.option_strings) or f"`{action.dest}`")]
    if isinstance(action, argparse.BooleanOptionalAction) or action.const is True:
        return [*names, prose("a switch"), prose("off")]
    kind = {int: "whole number", float: "number", Path: "path"}.get(action.type, "text")  # type: ignore[call-overload]
    many = ", any number of them" if action.nargs == "*" else ""
    return [*names, prose(kind + many), _show_default(action)]


def _show_default(action: argparse.Action) -> Html:
    if action.required:
        return prose("required")
    return prose("none") if action.default in (None, "", ()) else verbatim(str(action.default))

"""Where the results come from: assumptions in the code, versions of the software, the archive, the declarations."""

import importlib.metadata
import platform
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

import pypandoc
import yaml

import ccreport
from ccreport.core.settings.shown import list_unshown
from ccreport.report.markup.blocks import (
    Html,
    prose,
    render_float,
    render_quotation,
    render_table,
    render_tabs,
    text,
    verbatim,
)
from ccreport.report.markup.escape import escape_text, link_address

# The comment that marks an assumption, in Python (#) and SQL (--), and the comment lines right below it.
MARK: Final = re.compile(r"(?P<indent>\s*)(?P<sign>#|--) ASSUME:? (?P<text>.*)")
# polars>=2.1 · PyYAML>=6.0.3 ; python_version < "4"
REQUIREMENT: Final = re.compile(r"[\w.-]+")
FACTS: Final = {
    "name": "Name",
    "files_count": "Files on disk",
    "size_bytes": "Bytes",
    "sha256": "SHA-256 over the paths and hashes of all files",
}
# What `report.renderer` is where it is not chosen.
AUTO: Final = "auto"
USED_BY_AUTO: Final = "embedded"
LEFT_OUT: Final = (
    "All keys of the configuration with their values, but for those that only say where files lie, come from or go to: "
    f"{', '.join(f'`{key}`' for key in list_unshown())}."
)
CODE_ENDINGS: Final = (".py", ".sql")


def render_assumptions(code: Path) -> str:
    """Return every assumption that is marked in the Python and SQL files below a folder, with its place."""
    rows = []
    for file in sorted(path for path in code.rglob("*") if path.suffix in CODE_ENDINGS):
        place = PurePosixPath(code.name, *file.relative_to(code).parts)
        for line, assumption in _find_assumptions(file.read_text(encoding="utf-8")):
            rows.append([prose(assumption), verbatim(f"{place}:{line}")])
    if not rows:
        return "The code marks no assumption.\n"
    table = render_table(("Assumption", "Where"), rows, title="Assumptions")
    return render_float("tbl-assumptions", table, "Assumptions, as the code marks them.")


def _find_assumptions(source: str) -> Iterator[tuple[int, str]]:
    lines = source.split("\n")
    for start, line in enumerate(lines):
        mark = MARK.fullmatch(line)
        if mark is None:
            continue
        words = [mark["text"].strip()]
        beginning = f"{mark['indent']}{mark['sign']} "
        for below in lines[start + 1 :]:
            if not below.startswith(beginning) or MARK.fullmatch(below):
                break
            words.append(below.removeprefix(beginning).strip())
        yield start + 1, " ".join(words)


def render_provenance(archive: Mapping[str, Any], config: str, evaluation: Path) -> str:
    """Return the facts of the archive, the versions of the software, and what was declared.

    `config` is YAML or JSON text; of the evaluation file the text is shown with its comments.
    """
    versions = [[prose(name), text(version)] for name, version in _list_versions()]
    software = render_table(("Software", "Version"), versions, title="Software")
    origin = [[prose(meaning), _show_fact(archive[fact])] for fact, meaning in FACTS.items() if fact in archive]
    packed = [part for part in archive.get("parts", ()) if part["sha256"]]
    origin += [[text(f"SHA-256 of {part['name']}"), verbatim(part["sha256"])] for part in packed]
    declared = [
        ("Configuration", render_quotation(_show_config(config), "Configuration")),
        ("Evaluation", render_quotation(evaluation.read_text(encoding="utf-8"), "Evaluation")),
    ]
    return "\n".join(
        (
            "## Archive {#archive}\n",
            render_float("tbl-archive", render_table(("Fact", "Value"), origin, title="Archive"), "The archive."),
            "## Software {#software}\n",
            render_float("tbl-software", software, "Programs and libraries that made these pages."),
            f"## What was declared {{#declared}}\n\n{LEFT_OUT}\n",
            render_tabs(declared),
        )
    )


def _show_fact(value: str | int) -> Html:
    return text(f"{value:,}") if isinstance(value, int) else verbatim(value)


def _list_versions() -> Iterator[tuple[str, str]]:
    yield "ccreport", ccreport.__version__
    yield "Python", platform.python_version()
    for name in sorted(_list_requirements(), key=str.lower):
        yield name, importlib.metadata.version(name)
    yield "pandoc", pypandoc.get_pandoc_version()


def _list_requirements() -> Iterator[str]:
    for requirement in importlib.metadata.requires("ccreport") or ():
        name = REQUIREMENT.match(requirement)
        if name and "extra ==" not in requirement:
            yield name[0]


def _show_config(config: str) -> str:
    """Return the config as YAML; of a path of this machine only the name is left."""
    shown: Any = _without_machine_paths(yaml.safe_load(config))
    if shown.get("report", {}).get("renderer") == AUTO:
        shown["report"]["renderer"] = USED_BY_AUTO
    return yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, width=100)


def cite_archive(config: Mapping[str, Any], archive: Mapping[str, Any]) -> dict[str, str]:
    """Return `sha256`, `place` and a link to the parts if there are any, as Markdown; `archive` as in archive.json."""
    return {
        "sha256": escape_text(archive["sha256"]),
        "place": _name_archive(config) or escape_text(archive["name"]),
        "parts": " ([its parts](provenance.qmd#archive))" if archive.get("parts") else "",
    }


def _name_archive(config: Mapping[str, Any]) -> str:
    """Return where the configuration says that the raw archive is, as Markdown; else nothing.

    An address is a link, a path of this machine has only its name.
    """
    archive = config.get("archive")
    named = archive if isinstance(archive, list) else [archive]
    paths = [part["path"] if isinstance(part, dict) else part for part in named if part]
    return ", ".join(map(link_address, _without_machine_paths(paths)))


def _without_machine_paths(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_machine_paths(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_machine_paths(inner) for inner in value]
    return PurePosixPath(value).name if isinstance(value, str) and value.startswith(("/", "~")) else value

"""The pages of a Quarto website project as either renderer reads them: their includes and variables in place.

What Quarto would only warn of, or show as `?var:x`, is an error with file and line here.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from ccreport.core.hard_links import link_file
from ccreport.report.markup.html_blocks import Line
from ccreport.report.site.links import PageError

# ---\ntitle: Ledger\n---\n
HEADER: Final = re.compile(r"---\n(.*?)^---\n", re.DOTALL | re.MULTILINE)
# {{< include fragments/ledger.md >}}
INCLUDE: Final = re.compile(r"\s*\{\{< include (\S+) >\}\}\s*")
# {{< var archive.sha256 >}}
VARIABLE: Final = re.compile(r"\{\{< var ([\w.-]+) >\}\}")
SHORTCODE: Final = re.compile(r"\{\{<.*")
PRINT_ONLY: Final = '::: {.content-visible when-format="typst"}'


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the mapping of a YAML file of our own; raise PageError where there is none."""
    try:
        loaded: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise PageError(f"{path.name}: {error}") from error
    return loaded


def read_page(project: Path, name: str, variables: Mapping[str, Any]) -> list[Line]:
    """Return the lines of a page with its includes and variables in place; raise PageError for what is not there."""
    return [_substitute(line, variables) for line in _expand(project, name, ())]


def leave_out_print(lines: Iterable[Line]) -> Iterator[Line]:
    """Yield the lines of a page without the blocks for the PDF, which either renderer would read and then drop.

    Such a block ends with the next `:::` of the file that it began in.
    """
    printed: str | None = None
    for line in lines:
        if printed is None and line.text == PRINT_ONLY:
            printed = line.file
        elif printed is None:
            yield line
        elif (line.file, line.text) == (printed, ":::"):
            printed = None


def _expand(project: Path, name: str, stack: tuple[str, ...]) -> Iterator[Line]:
    """Yield the lines of a page with its includes in place; as in Quarto, paths count from the page in includes too."""
    for number, text in enumerate((project / name).read_text(encoding="utf-8").split("\n"), start=1):
        line = Line(text, name, number)
        include = INCLUDE.fullmatch(text)
        if include is None:
            yield line
            continue
        if include[1] in stack or not (project / include[1]).is_file():
            fault = "this includes itself:" if include[1] in stack else "no such file to include:"
            raise PageError(f"{line.place}: {fault} {include[1]}")
        yield from _expand(project, include[1], (*stack, include[1]))
        yield Line("", name, number)


def _substitute(line: Line, variables: Mapping[str, Any]) -> Line:
    def replace(match: re.Match[str]) -> str:
        value: Any = variables
        for key in match[1].split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is None or isinstance(value, Mapping | list):
            raise PageError(f"{line.place}: no such variable: {match[1]}")
        return str(value)

    text = VARIABLE.sub(replace, line.text)
    if unknown := SHORTCODE.search(text):
        raise PageError(f"{line.place}: no such shortcode: {unknown[0]}")
    return Line(text, line.file, line.number)


def read_header(page: Path) -> dict[str, Any]:
    """Return the YAML header of a page, empty where it has none."""
    header = HEADER.match(page.read_text(encoding="utf-8"))
    loaded: dict[str, Any] | None = yaml.safe_load(header[1]) if header else None
    return loaded or {}


def link_resources(project: Path, site: Mapping[str, Any], output: Path) -> None:
    """Give the style sheets and resources that the settings of a site name second names in the folder of its pages."""
    patterns = (*site["project"].get("resources", []), *list_styles(site))
    for resource in {found for pattern in patterns for found in project.glob(pattern) if found.is_file()}:
        target = output / resource.relative_to(project)
        target.parent.mkdir(parents=True, exist_ok=True)
        link_file(resource, target)


def list_styles(site: Mapping[str, Any]) -> list[str]:
    """Return the names of the style sheets of a site."""
    css: str | list[str] = site["format"]["html"]["css"]
    return [css] if isinstance(css, str) else css

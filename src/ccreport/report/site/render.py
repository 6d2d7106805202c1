"""The report: pages and fragments, put together in a work folder and rendered there."""

import html
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pypandoc
import yaml

from ccreport.core.atomic_files import move_folder
from ccreport.core.hard_links import link_tree
from ccreport.report.kind_pictures import show_sections_examples
from ccreport.report.site.absent_pages import leave_out_pages, list_absent
from ccreport.report.site.links import PageError, lead_to_figures
from ccreport.report.site.pandoc import Pandoc
from ccreport.report.site.quarto import Quarto, add_to_theme, find_quarto, render_quarto
from ccreport.report.site.search import add_search
from ccreport.report.site.sections import (
    FACTS,
    add_sections,
    lead_back,
    leave_out_entry,
    leave_shared_pages,
    write_facts,
)
from ccreport.report.site.without_quarto import render_embedded

ASSETS: Final = Path(__file__).parent
# What filters and sorts long tables.
TABLES_SCRIPT: Final = "tables.js"
RENDERERS: Final = ("auto", "quarto", "embedded")
# [PNG](figures/one_flow_loss/figure.png) · [CSV](tables/cpu.csv) · <img src="figures/pairs/figure.svg"
LINK: Final = re.compile(r"(?:\]\(|src=\"|srcset=\")(tables|figures|kinds)/([\w./-]+)[)\"]")
NO_FORMER: Final = """\
Nothing to compare with: `release.former` in `config.yaml` names no release that was published before.
"""
NO_QUARTO: Final = (
    "report.renderer is `quarto`, but there is no quarto on the PATH; "
    "install it (https://quarto.org/docs/download/), or set report.renderer to `auto` or `embedded`"
)


def render_report(
    renderer: str,
    sources: Path,
    fragments: Path,
    tables: Path,
    figures: list[Path],
    cells: Path,
    explorer: list[Path],
    performance: Path,
    reference: Path,
    changes: list[Path],
    files: list[Path],
    sections: list[Path],
    kept: Path,
    output: Path,
) -> None:
    """Render the pages in `sources` with their fragments into `output`, a folder that is replaced.

    `renderer` is `quarto`, or `embedded` or `auto`, which are the same; `tables` is a folder as `exhibits` says, and
    each of `figures`, no two of which have a figure of the same name. `cells` has a page `cells_<table>.qmd` for each
    table whose cells are traced. `explorer` is the folder that the explorer's page loads from, none for a section.
    `performance` is that which `render_performance` wrote. `reference` is that which `render_reference` wrote.
    `changes` is the text of that page, empty without a former release, none for a section. `files` are those that pages
    link to by their bare names: the report as one PDF, the comparisons as CSV. `sections` are folders of sites that
    were rendered as sections before. `kept` is one with what was made of this site's pages before. Raise PageError
    where a page cannot be rendered.
    """
    # Quarto runs in a folder of its own, where a relative path would lead elsewhere.
    work = output.absolute().with_name(output.name + ".work")
    shutil.rmtree(work, ignore_errors=True)
    project, home, site = (work / name for name in ("project", "home", "site"))
    home.mkdir(parents=True)
    quarto = _choose_quarto(renderer, home)
    variables, settings = _assemble_project(sources, fragments, project, _name_renderer(quarto))
    # What only pages show that sections share with the report.
    for folder in (performance / "fragments", reference) if explorer else ():
        shutil.copytree(folder, project / "fragments", dirs_exist_ok=True)
    for path in changes:
        text = path.read_text(encoding="utf-8")
        (project / "fragments/changes.md").write_text(text or NO_FORMER, encoding="utf-8")
        if not text:
            leave_out_entry(settings, "changes.qmd")
    for page in sorted(cells.glob("cells_*.qmd")):
        shutil.copyfile(page, project / page.name)
    absent = list_absent(variables)
    leave_out_pages(project, absent)
    for name in absent:
        leave_out_entry(settings, f"{name}.qmd")
    lead_to_figures(project)
    for file in files:
        if file.stem not in absent:
            shutil.copyfile(file, project / file.name)
    add_search(project)
    shutil.copyfile(ASSETS / TABLES_SCRIPT, project / TABLES_SCRIPT)
    if explorer:
        show_sections_examples(project, add_sections(project, sections, settings))
    else:
        lead_back(settings)
    _copy_exhibits(
        project, {"tables": [tables], "figures": [*figures, performance / "figures"], "kinds": [sources / "kinds"]}
    )
    if quarto:
        add_to_theme(project, settings)
    _write_yaml(settings, project / "_quarto.yml")
    if not explorer:
        leave_shared_pages(project)
    _link_folders(explorer, sections, site)
    if quarto is None:
        render_embedded(project, site, kept)
    else:
        render_quarto(quarto, project, home, site, kept / "quarto")
        Pandoc(kept).prune()
    if not explorer:
        write_facts(site, variables)
    move_folder(site, output)
    shutil.rmtree(work)


def _copy_exhibits(project: Path, folders: Mapping[str, list[Path]]) -> None:
    """Copy the files of tables, figures and their kinds that the fragments link to, where the links lead."""
    for fragment in sorted(project.glob("fragments/*.md")):
        for kind, file in LINK.findall(fragment.read_text(encoding="utf-8")):
            target = project / kind / file
            target.parent.mkdir(parents=True, exist_ok=True)
            source = next((folder for folder in folders[kind] if (folder / file).exists()), folders[kind][0])
            shutil.copyfile(source / file, target)


def _link_folders(explorer: list[Path], sections: list[Path], target: Path) -> None:
    """Give the files of the explorer and of the sections' sites second names below a folder."""
    for folder in explorer:
        link_tree(folder, target / "explorer", ".*")
    for section in sections:
        link_tree(section, target / section.parent.name, FACTS, ".*")


def _choose_quarto(renderer: str, home: Path) -> Quarto | None:
    if renderer not in RENDERERS:
        raise PageError(f"no such renderer: {renderer}; use one of {', '.join(RENDERERS)}")
    # Quarto takes more than ten times as long: only for those who ask for it.
    quarto = find_quarto(home) if renderer == "quarto" else None
    if renderer == "quarto" and quarto is None:
        raise PageError(NO_QUARTO)
    print(f"rendering the report with {_name_renderer(quarto)}", file=sys.stderr)
    return quarto


def _name_renderer(quarto: Quarto | None) -> str:
    if quarto is None:
        return f"the embedded renderer and pandoc {pypandoc.get_pandoc_version()}"
    return f"Quarto {quarto.version}"


def _assemble_project(
    sources: Path, fragments: Path, project: Path, renderer: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Copy pages and fragments into one folder, and return the variables and the settings, which are still to write.

    What is known only now is in both: the renderer, and the evaluation's title.
    """
    shutil.copytree(fragments, project / "fragments", ignore=shutil.ignore_patterns("_variables.yml", "*.qmd"))
    # Pages that only the evaluation tells: those of figures by topic.
    for page in sorted(fragments.glob("*.qmd")):
        shutil.copyfile(page, project / page.name)
    for pattern in ("*.qmd", "*.css"):
        for source in sorted(sources.glob(pattern)):
            shutil.copyfile(source, project / source.name)
    variables = yaml.safe_load((fragments / "_variables.yml").read_text(encoding="utf-8"))
    variables["software"]["renderer"] = renderer
    _write_yaml(variables, project / "_variables.yml")
    site = yaml.safe_load((sources / "_quarto.yml").read_text(encoding="utf-8"))
    site["website"]["title"] = html.unescape(variables["evaluation"]["title"])
    return variables, site


def _write_yaml(value: Any, path: Path) -> None:
    path.write_text(yaml.safe_dump(value, sort_keys=False, allow_unicode=True), encoding="utf-8")

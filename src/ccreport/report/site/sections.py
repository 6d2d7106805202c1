"""Sections: evaluations beside the report's own, each a website of its own in a folder of the report's.

A section has the pages that show its evaluation; the explorer, the pages about the archive and the documentation are
the report's for all. The report lists its sections on its first page.
"""

import html
import re
from pathlib import Path
from typing import Any, Final

import yaml

from ccreport.report.kind_pictures import Examples, list_shown
from ccreport.trace.raw_files import PAGE as RAW_FILES

# The pages that a section takes from the report that it is part of, since they show nothing of an evaluation.
SHARED_PAGES: Final = (
    "explorer",
    "ledger",
    "collection",
    "dictionary",
    "changes",
    "docs",
    "tutorial",
    "own_archive",
    "evaluations",
    "collect",
    "elsewhere",
    "cluster",
    "publish",
    "configuration",
    "commands",
    "performance",
)
# ](docs.qmd) · "explorer.html#run=…" · "ledger_files_2.html#job-…"
SHARED_LINK: Final = re.compile(rf"\b({'|'.join(SHARED_PAGES)}|{RAW_FILES}(?:_\d+)?)\.(?:qmd|html)\b")
LISTED: Final = "fragments/other_evaluations.md"
LIST_TITLE: Final = "Other evaluations"
LIST_LABEL: Final = "other-evaluations"
FACTS: Final = "section.yml"


def leave_shared_pages(project: Path) -> None:
    """Make a website project that of a section: what leads to a shared page leads to the report's, one folder up."""
    for name in SHARED_PAGES:
        (project / f"{name}.qmd").unlink()
    for page in project.glob(f"{RAW_FILES}*.qmd"):
        page.unlink()
    for page in sorted((*project.glob("*.qmd"), *project.glob("fragments/*.md"), project / "_quarto.yml")):
        text = page.read_text(encoding="utf-8")
        if SHARED_LINK.search(text):
            page.write_text(SHARED_LINK.sub(r"../\1.html", text), encoding="utf-8")


def lead_back(site: dict[str, Any]) -> None:
    """Add to a section's settings entries that lead to the report and, by its list, to the other sections."""
    entries = site["website"]["navbar"]["left"]
    entries.insert(0, {"text": "Main report", "href": "../index.html"})
    entries.append({"text": LIST_TITLE, "href": f"../index.html#{LIST_LABEL}"})


def leave_out_entry(site: dict[str, Any], page: str) -> None:
    """Remove the entry of a page from the menus of a site's settings."""
    for entry in site["website"]["navbar"]["left"]:
        if "menu" in entry:
            entry["menu"] = [link for link in entry["menu"] if link["href"] != page]


def add_sections(project: Path, sections: list[Path], site: dict[str, Any]) -> list[tuple[str, Examples]]:
    """Name the sites of sections in a menu of a project's settings, and list them on its first page, by evaluation.

    Return the name of each with its figures that are examples of their kinds. Each is the folder `section` in that of
    an evaluation's results, with a `section.yml` as `write_facts` writes it.
    """
    entries, menu, examples = [], [], []
    for section in sections:
        facts = yaml.safe_load((section / FACTS).read_text(encoding="utf-8"))
        name = section.parent.name
        site["project"]["resources"].append(f"{name}/**/*")
        entries.append(f"- [{facts['title']}]({name}/index.html): {facts['summary']}\n")
        menu.append({"text": html.unescape(facts["title"]), "href": f"{name}/index.html"})
        examples.append((name, facts["kinds"]))
    if entries:
        heading = f"## {LIST_TITLE} of the same archive {{#{LIST_LABEL}}}\n\n"
        (project / LISTED).write_text(heading + "".join(entries), encoding="utf-8")
        site["website"]["navbar"]["left"].append({"text": LIST_TITLE, "menu": menu})
    return examples


def write_facts(output: Path, variables: dict[str, Any]) -> None:
    """Write what the report says of a section into the folder of its site; `variables` are its pages', escaped."""
    summary = variables["claims"]["counts"] or variables["evaluation"]["exhibits"]
    kinds = list_shown(variables["kinds"], output)
    facts = {"title": variables["evaluation"]["title"], "summary": f"{summary}.", "kinds": kinds}
    (output / FACTS).write_text(yaml.safe_dump(facts, allow_unicode=True), encoding="utf-8")

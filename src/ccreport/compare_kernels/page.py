"""The page of a comparison: the verdict, criteria, all findings with differences first, and runs over time."""

import html
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from string import Template
from typing import Final

from ccreport import __version__
from ccreport.compare_kernels.carry_out import Measured
from ccreport.compare_kernels.declaration import Comparison
from ccreport.compare_kernels.findings import Finding
from ccreport.compare_kernels.measures import Runs
from ccreport.compare_kernels.scorecard import Score, is_good
from ccreport.compare_kernels.wording import (
    FAILED_HEADINGS,
    SIDES_HEADINGS,
    list_headings,
    list_rows,
    list_sides,
    summarise,
)
from ccreport.core.atomic_files import replace_text
from ccreport.core.declarations import SCHEMAS
from ccreport.core.text import count_things
from ccreport.figures.kit.fast_altair import compose_by_reference
from ccreport.figures.run.side_by_side import draw_side_by_side
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Database
from ccreport.figures.write import write_files

PAGE: Final = Path(__file__).with_name("page.html")
# What pages of the report look like, too.
STYLES: Final = (SCHEMAS.parent / "src/ccreport/report/site/page.css", SCHEMAS.parent / "reports/styles.css")
FIGURES: Final = "figures"
# Each takes about two seconds.
FIGURES_AT_MOST: Final = 24


def write_page(
    folder: Path,
    comparison: Comparison,
    findings: list[Finding],
    scores: list[Score],
    runs: Runs,
    measured: Measured,
    database: Path,
) -> None:
    """Write index.html with its styles and figures into a folder."""
    for path in STYLES:
        shutil.copyfile(path, folder / path.name)
    shutil.copyfile(PAGE.with_name("compared.css"), folder / "compared.css")
    conditions = list(dict.fromkeys(finding.condition for finding in findings))
    drawn = _draw_all(folder / FIGURES, conditions[:FIGURES_AT_MOST], comparison, runs, database)
    sides = write_table(SIDES_HEADINGS, list_sides(comparison, measured))
    failed = write_table(FAILED_HEADINGS, list(measured.failures.items())) if measured.failures else ""
    parts = [failed, sides, _write_scores(scores), _write_findings(comparison, findings), *drawn]
    if left_out := len(conditions) - FIGURES_AT_MOST:
        parts += [f"<p>{left_out} more conditions are not drawn.</p>"] if left_out > 0 else []
    if comparison.not_measured:
        rows = [(section, reason) for section, reason in comparison.not_measured.items()]
        parts += ["<h2>Not measured here</h2>", write_table(("Section", "Why"), rows)]
    filled = Template(PAGE.read_text(encoding="utf-8")).substitute(
        title=html.escape(comparison.title),
        summary=html.escape(summarise(comparison, findings, measured)),
        how=html.escape(_describe(comparison, measured)),
        body="\n".join(parts),
    )
    replace_text(folder / "index.html", filled)


def write_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], classes: Sequence[str] = (), kind: str = ""
) -> str:
    """Return a table of texts, of this class, which scrolls where it is too wide; `classes` are those of the rows."""
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in headings)
    names = classes or [""] * len(rows)
    body = "\n".join(
        f'<tr class="{name}">{"".join(f"<td>{html.escape(cell)}</td>" for cell in row)}</tr>'
        for row, name in zip(rows, names, strict=True)
    )
    table = f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"
    return f'<div class="wide {kind}" tabindex="0">{table}</div>'


def _describe(comparison: Comparison, measured: Measured) -> str:
    seeds = "the same seed on both sides" if not comparison.seed_offset else "seeds that differ between the sides"
    return (
        f"Campaign {comparison.campaign.name}, {count_things(comparison.blocks_count, 'block')} in the order A B B A, "
        f"each with one pair per condition, with {seeds}; {measured.clock} time; ccreport {__version__}. Intervals are "
        "95 %, p values corrected by Holm's method for all tests. Equal: the interval is within "
        f"±{comparison.equal_within_pct:g} %, or ±{comparison.equal_within_points:g} percentage points of "
        "retransmitted segments. An interval is of these paths: where chance hardly touches a run, it is narrow."
    )


def _write_scores(scores: list[Score]) -> str:
    if not scores:
        return ""
    rows = [
        (score.criterion.name, score.verdict, score.criterion.question, score.criterion.section, score.basis)
        for score in scores
    ]
    headings = ("Criterion", "Verdict against the baseline", "Question", "Section", "Why")
    return "<h2>Criteria</h2>" + write_table(headings, rows, [score.verdict.replace(" ", "-") for score in scores])


def _write_findings(comparison: Comparison, findings: list[Finding]) -> str:
    classes = [_classify(comparison, finding) for finding in findings]
    return "<h2>Conditions and measures</h2>" + write_table(
        list_headings(comparison), list_rows(findings), classes, kind="findings"
    )


def _classify(comparison: Comparison, finding: Finding) -> str:
    """Return the class of a row, and so its colour: with criteria better or worse where a difference is that."""
    asking = [each for each in comparison.criteria if each.covers(finding.condition, finding.measure.name)]
    if finding.effect.verdict in ("up", "down") and asking:
        return "better" if is_good(asking[0], finding) else "worse"
    return finding.status.replace(" ", "-")


def _draw_all(
    folder: Path, conditions: Sequence[str], comparison: Comparison, runs: Runs, database: Path
) -> Iterator[str]:
    """Yield a section for each condition: a run of each side over time."""
    shutil.rmtree(folder, ignore_errors=True)
    with Database(database) as opened, compose_by_reference():
        for number, condition in enumerate(conditions, 1):
            chosen = {key: runs.choose_run(condition, key) for key in "ab"}
            names = {"a": f"A: {comparison.a.name}", "b": f"B: {comparison.b.name}"}
            given = {names[key]: (run["run_id"], run["mode"] == "both") for key, run in chosen.items() if run}
            yield f"<h2>{html.escape(condition)}</h2>"
            try:
                figure = draw_side_by_side(given, condition, opened)
            except MissingFigure as missing:
                yield f"<p>{html.escape(str(missing))}</p>"
                continue
            (folder / str(number)).mkdir(parents=True)
            write_files(figure, folder / str(number))
            source, alternative = f"{FIGURES}/{number}/figure.svg", html.escape(figure.alternative, quote=True)
            yield (
                f'<figure><div class="figure-scroll" tabindex="0"><img src="{source}" alt="{alternative}"></div>'
                f"<figcaption>{html.escape(figure.caption)}</figcaption></figure>"
            )

"""The first page's tiles: what a reader wants to know in ten seconds, as questions, answers and links."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ccreport.report.facts import UNKNOWN

NO_RUNS: Final = "no runs"
Variables = Mapping[str, Mapping[str, str]]


def render_tiles(variables: Variables, declared: Mapping[str, Any]) -> str:
    """Return the tiles as a list; an evaluation without published values or claims has no tile for them.

    `variables` are those of the pages, escaped; `declared` is the evaluation.
    """
    return "::: {.tiles}\n\n" + "\n".join(_list_tiles(variables, declared)) + "\n\n:::\n"


def _list_tiles(variables: Variables, declared: Mapping[str, Any]) -> Iterator[str]:
    archive, compared, claims, ledger = (variables[name] for name in ("archive", "reproduction", "claims", "ledger"))
    rtt = "" if archive["rtt"] == UNKNOWN else f"RTT {archive['rtt']}; "
    measured = f"{archive['algorithms']}; {rtt}[{archive['dates']}]{{.tile-date}}"
    page = "index.qmd#measured" if archive["runs"] == NO_RUNS else "explorer.qmd"
    yield _render("What was measured?", archive["most"], measured, page)
    if declared["reproduction"]:
        detail = (
            f"pairs of cells are reproduced, {compared['same_value']} have the same value; pairs without runs here: "
            f"{compared['missing']}"
        )
        answer = f"{compared['reproduced']} of {compared['compared']}"
        yield _render("Is the paper reproduced?", answer, detail, "reproduction.qmd")
    if declared["claims"]:
        detail = f"claims hold, {claims['fail']} do not, for {claims['unknown']} there is not enough data"
        yield _render("Do its claims hold?", f"{claims['hold']} of {claims['total']}", detail, "claims.qmd")
    detail = f"of {archive['files']}: {ledger['ingested']} ingested, {ledger['ignored']} ignored by a named rule"
    yield _render("What was rejected?", f"{ledger['rejected']} rejected", detail, "ledger.qmd")


def _render(question: str, answer: str, detail: str, page: str) -> str:
    return f"- [[{question}]{{.tile-question}} [{answer}]{{.tile-answer}} [{detail}]{{.tile-detail}}]({page})"

"""The answer on rates under random loss: a table of which algorithm is faster, and by how much, a row for each loss."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from ccreport.core.text import count_things
from ccreport.report.first_page.rtts import name_rtts
from ccreport.report.fragments.first_page.condition_phrases import FLOWS, LOSS, RTT, SHARING, read_loss_pct
from ccreport.report.markup.blocks import Html, text
from ccreport.report.markup.escape import escape_text, fence_html
from ccreport.summarise.grids.links import cell_href
from ccreport.summarise.grids.plain_numbers import show_plain
from ccreport.summarise.questions import COMPARISONS

# What the parts of the name of a comparison's conditions are.
PARTS: Final = {"loss": pl.String, "rtt": pl.String, "flows": pl.String, "rest": pl.String}
# What names a column of the table.
COLUMN: Final = ("flows", "rest")
NO_LOSS: Final = "no loss"
ENDS: Final = ("low", "high")


@dataclass(frozen=True)
class Look:
    """The colour of each algorithm, as `choose_colours` returns it, and how many comparisons have a page of their runs.

    These are the first of the table, by their `number`.
    """

    colours: Mapping[str, str]
    linked_count: int


PLAIN: Final = Look({}, 0)


def render_by_loss(
    lossy: pl.DataFrame, lossless: pl.DataFrame, rtts: pl.DataFrame, rate: str, look: Look
) -> tuple[str, str]:
    """Return what a table of the ratio at each loss shows, as Markdown, and the table.

    Both are empty where the losses share no conditions. `lossy` and `lossless` are comparisons with their `condition`
    and their `number` in the published table; `rtts` is as `read_rtts` returns it; `rate` is what is compared.

    All rows are of one round-trip time: that at which most conditions are compared at every loss, of several such the
    longest. Of each way to share the path the fewest and the most flows have a column. No loss has a row where it is
    compared under the same conditions.
    """
    # They are sorted by RTT.
    parts = reversed(_place(lossy).partition_by("table_name", "rtt", maintain_order=True))
    own = max(map(_keep_shared, parts), key=lambda part: part.height, default=_place(lossy))
    if own.is_empty():
        return "", ""
    counts = own["flows"].str.extract(r"([\d,]+)").str.replace_all(",", "").cast(pl.Int64)
    count = pl.col("count")
    told = own.with_columns(counts.alias("count")).filter(
        ((count == count.min()) | (count == count.max())).over("loss", "rest") | count.is_null()
    )
    columns = told.select(COLUMN).unique(maintain_order=True)
    same = _place(lossless).join(told, on=("table_name", "rtt", *COLUMN), how="semi", nulls_equal=True)
    has_lossless = same.select(COLUMN).unique().height == columns.height
    shown = pl.concat([same, told.drop("count")]) if has_lossless else told
    by_loss = sorted(shown.partition_by("loss", maintain_order=True), key=_read_loss)
    runs = [(row["first_runs_count"], row["second_runs_count"]) for row in shown.iter_rows(named=True)]
    usual = Counter(runs).most_common(1)[0][0]
    of_runs = f"{_count_runs(*usual)}{'' if len(set(runs)) == 1 else ' unless given'}"
    lead = _introduce(by_loss, name_rtts(rtts, shown) or shown["rtt"][0], rate, of_runs)
    return lead, _render_table(by_loss, columns.rows(), usual, look)


def _place(compared: pl.DataFrame) -> pl.DataFrame:
    parts = [_part(condition) for condition in compared["condition"]]
    return pl.concat([compared, pl.DataFrame(parts, schema=PARTS, orient="row")], how="horizontal")


def _part(condition: str) -> tuple[str, str | None, str | None, str]:
    parts = condition.split(", ")
    loss, rtt, flows = (
        next((part for part in parts if pattern.fullmatch(part)), None) for pattern in (LOSS, RTT, FLOWS)
    )
    return loss or "", rtt, flows, ", ".join(part for part in parts if part not in (loss, rtt, flows))


def _keep_shared(part: pl.DataFrame) -> pl.DataFrame:
    """Return the comparisons whose conditions are compared at every loss."""
    losses = part["loss"].n_unique()
    return part.filter(pl.col("loss").n_unique().over(COLUMN) == losses)


def _read_loss(of_loss: pl.DataFrame) -> float:
    return read_loss_pct(of_loss["loss"][0]) or 0.0


def _count_runs(first: int, second: int) -> str:
    return f"{count_things(first, 'run')} each" if first == second else f"{first} and {second} runs"


def _introduce(by_loss: Sequence[pl.DataFrame], rtt: str | None, rate: str, of_runs: str) -> str:
    """Return "BBR's rate over CUBIC's at 80 ms, no loss to 0.1 % (geometric means, 95 % intervals, 5 runs each)".

    The first page of the PDF has a line for it: the losses are in the table.
    """
    first, second = by_loss[0].select("first_algorithm", "second_algorithm").row(0)
    least, most = by_loss[0]["loss"][0], by_loss[-1]["loss"][0]
    losses = most if len(by_loss) == 1 else f"{least.removesuffix(' loss')} to {most}"
    if least == NO_LOSS:
        losses = f"{least} to {most.removesuffix(' loss')}"
    has_intervals = any(of_loss["effect_low_ratio"].count() for of_loss in by_loss)
    of = ", ".join(["geometric means", *(["95 % intervals"] if has_intervals else []), of_runs])
    ratio = escape_text(f"{first}’s {rate} over {second}’s{f' at {rtt}' if rtt else ''}")
    return f'{ratio}[, {escape_text(losses)}]{{.content-visible when-format="html"}} {escape_text(f"({of})")}'


def _render_table(
    by_loss: Sequence[pl.DataFrame], columns: Sequence[tuple[str | None, str]], usual: tuple[int, int], look: Look
) -> str:
    heads = "".join(f'<th scope="col">{text(_name_column(*column))}</th>' for column in columns)
    rows = []
    for of_loss in by_loss:
        fields = {(row["flows"], row["rest"]): row for row in of_loss.iter_rows(named=True)}
        cells = "".join(f"<td>{_link_cell(fields[column], usual, look)}</td>" for column in columns)
        loss = of_loss["loss"][0]
        shown = "none" if loss == NO_LOSS else loss.removesuffix(" loss")
        rows.append(f'<tr><th scope="row">{text(shown)}</th>{cells}</tr>')
    body = "\n".join(rows)
    return fence_html(
        '<div class="table-scroll" role="region" aria-label="Ratio of the rates by loss" tabindex="0">\n'
        f'<table class="data matrix">\n<thead><tr><th scope="col">Loss</th>{heads}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody>\n</table>\n</div>"
    ).strip()


def _name_column(flows: str | None, rest: str) -> str:
    """Return "1 flow", "16 flows, alone" or "16 flows sharing", with what else there is in brackets."""
    parts = rest.split(", ")
    sharing = next((found for part in parts if (found := SHARING.fullmatch(part))), None)
    others = [part for part in parts if part and (sharing is None or part != sharing[0])]
    named = flows or ("flows" if sharing else "")
    if sharing and sharing["how"] == "both":
        named = " ".join(filter(None, (named, "sharing", sharing["names"])))
    elif sharing and flows != "1 flow":
        named = f"{named}, alone"
    return " ".join(filter(None, (named, f"({', '.join(others)})" if others else ""))) or "all"


def _link_cell(row: Mapping[str, Any], usual: tuple[int, int], look: Look) -> Html:
    """Return what a comparison shows, which leads to its runs where it has a page of them."""
    shown = _show_cell(row, usual, look)
    if row["number"] > look.linked_count:
        return shown
    told = f"{row['question']}, {row['first_algorithm']} over {row['second_algorithm']}: {row['verdict']}"
    return Html(f'<a href="{cell_href(COMPARISONS, row["number"])}" title="{text(told)}">{shown}</a>')


def _show_cell(row: Mapping[str, Any], usual: tuple[int, int], look: Look) -> Html:
    """Return who is ahead and how many times the other's rate it has, else the verdict; below it how sure that is."""
    ahead, ratio = row["ahead_algorithm"], row["effect_mean_ratio"]
    ends = [row[f"effect_{end}_ratio"] for end in ENDS]
    if ahead == row["second_algorithm"] and ratio:
        ratio, ends = 1 / ratio, [1 / end for end in reversed(ends) if end]
    below = [f"({'–'.join(map(show_plain, ends))})"] if len(ends) == len(ENDS) and None not in ends else []
    counts = (row["first_runs_count"], row["second_runs_count"])
    below += [_count_runs(*counts)] if counts != usual else []
    if ahead and ratio:
        colour = look.colours.get(ahead)
        of_algorithm = f' class="of-{colour}"' if colour else ""
        shown = Html(f"<strong{of_algorithm}>{text(f'{ahead} {show_plain(ratio)}×')}</strong>")
    else:
        shown = text(row["verdict"].replace("equal within ", "equal "))
        below = [*([show_plain(ratio)] if ratio else []), *below]
    # Lines break between them only.
    parts = " ".join(f"<span>{text(part)}</span>" for part in below)
    return Html(f"{shown} <small>{parts}</small>" if below else shown)

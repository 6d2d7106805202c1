"""The answer on rates under random loss: by how much which algorithm is faster, a line for each loss."""

from collections.abc import Iterator
from typing import Any, Final

import polars as pl

from ccreport.report.first_page.rtts import name_rtts
from ccreport.report.fragments.first_page.condition_phrases import FLOWS, LOSS, RTT, SHARING
from ccreport.report.markup.escape import escape_text
from ccreport.summarise.grids.plain_numbers import show_plain

# What the parts of the name of a comparison's conditions are.
PARTS: Final = {"loss": pl.String, "rtt": pl.String, "flows": pl.String, "rest": pl.String}

# The name and the text.
Line = tuple[str, str]


def tell_by_loss(lossy: pl.DataFrame, rtts: pl.DataFrame, rate: str) -> tuple[list[Line], list[Line]]:
    """Return a line for each loss, the most loss first: those where an algorithm always is ahead, then the others.

    There are none where the losses share no conditions.

    `lossy` are comparisons with their `condition`, `rtts` is as `read_rtts` returns it, `rate` is what is compared. All
    lines are of one round-trip time: that at which most conditions are compared at every loss, of several such the
    longest. Of each way to share the path the fewest and the most flows are told.
    """
    parts = [_part(condition) for condition in lossy["condition"]]
    placed = pl.concat([lossy, pl.DataFrame(parts, schema=PARTS, orient="row")], how="horizontal")
    # They are sorted by RTT.
    own = max(reversed(list(map(_keep_shared, _part_by_rtt(placed)))), key=lambda of_rtt: of_rtt.height, default=placed)
    counts = own["flows"].str.extract(r"([\d,]+)").str.replace_all(",", "").cast(pl.Int64)
    count = pl.col("count")
    told = own.with_columns(counts.alias("count")).filter(
        ((count == count.min()) | (count == count.max())).over("loss", "rest") | count.is_null()
    )
    # With most loss the two differ most.
    losses = list(reversed(told.partition_by("loss", maintain_order=True)))
    losses.sort(key=lambda of_loss: of_loss["ahead_algorithm"].null_count() > 0)
    lines = [
        (
            escape_text(", ".join(filter(None, (of_loss["loss"][0], _name_rtt(told, rtts))))),
            _tell(of_loss, rate if number == 0 else ""),
        )
        for number, of_loss in enumerate(losses)
    ]
    clear = sum(of_loss["ahead_algorithm"].null_count() == 0 for of_loss in losses)
    return lines[:clear], lines[clear:]


def _part(condition: str) -> tuple[str, str | None, str | None, str]:
    parts = condition.split(", ")
    loss, rtt, flows = (
        next((part for part in parts if pattern.fullmatch(part)), None) for pattern in (LOSS, RTT, FLOWS)
    )
    return loss or "", rtt, flows, ", ".join(part for part in parts if part not in (loss, rtt, flows))


def _part_by_rtt(placed: pl.DataFrame) -> list[pl.DataFrame]:
    return placed.partition_by("rtt", maintain_order=True)


def _keep_shared(of_rtt: pl.DataFrame) -> pl.DataFrame:
    """Return the comparisons whose conditions are compared at every loss."""
    losses = of_rtt["loss"].n_unique()
    return of_rtt.filter(pl.col("loss").n_unique().over("flows", "rest") == losses)


def _name_rtt(own: pl.DataFrame, rtts: pl.DataFrame) -> str:
    return name_rtts(rtts, own) or own["rtt"][0] or ""


def _tell(of_loss: pl.DataFrame, rate: str) -> str:
    """Return "BBR 24.1 times CUBIC's rate (geometric means; 95 % interval 11.0–52.8) with 1 flow, 2.11 times with 16".

    What the numbers are is said of the first where a `rate` is given.
    """
    said: list[str] = []
    before = ""
    for row in of_loss.iter_rows(named=True):
        verdict = row["ahead_algorithm"] or row["verdict"]
        lead = "".join(_tell_lead(row, rate))
        rate = "" if lead else rate
        named = verdict if verdict != before else ""
        said.append(" ".join(filter(None, (named, lead, _name_flows(row, is_first=not said)))))
        before = verdict
    return escape_text(", ".join(said))


def _tell_lead(row: dict[str, Any], rate: str) -> Iterator[str]:
    """Yield how many times the other's rate the faster algorithm has, and the interval; in full with a `rate`."""
    if not row["ahead_algorithm"] or not row["effect_mean_ratio"]:
        return
    is_first = row["ahead_algorithm"] == row["first_algorithm"]
    yield f"{show_plain(_turn(row['effect_mean_ratio'], is_first))} times"
    if rate:
        yield f" {row['second_algorithm' if is_first else 'first_algorithm']}’s {rate}"
    if row["effect_low_ratio"] and row["effect_high_ratio"]:
        low, high = sorted(_turn(row[f"effect_{end}_ratio"], is_first) for end in ("low", "high"))
        yield f" ({'geometric means; 95 % interval ' if rate else ''}{show_plain(low)}–{show_plain(high)})"


def _turn(ratio: float, is_first: bool) -> float:
    return ratio if is_first else 1 / ratio


def _name_flows(row: dict[str, Any], *, is_first: bool) -> str:
    """Return "with 1 flow", "with 16 sharing"; that the number is of flows is said of the first."""
    parts = str(row["rest"]).split(", ")
    sharing = next((found for part in parts if (found := SHARING.fullmatch(part))), None)
    others = [part for part in parts if part and (sharing is None or part != sharing[0])]
    how = ""
    if sharing and sharing["how"] == "both":
        how = f"sharing {sharing['names']}" if sharing["names"] else "sharing"
    elif sharing and row["flows"] != "1 flow":
        how = "alone"
    count = (row["flows"] if is_first else row["count"]) or "flows"
    return " ".join(filter(None, (f"with {count}", how, f"({', '.join(others)})" if others else "")))

"""Parameters of kernel modules: what their numbers mean, what the kernel takes by default, and what others do to it."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from ccreport.core.text import display_name
from ccreport.figures.kit import theme
from ccreport.figures.kit.axes import Position
from ccreport.figures.select.condition_cells import list_values
from ccreport.figures.select.declaration import Rate
from ccreport.figures.wording.runs import format_significant, join_names


@dataclass(frozen=True)
class Parameter:
    """A parameter: the value where nothing is set, how names of its algorithms begin, and in what parts of 1 it is."""

    default: str
    module: str
    parts: int = 1


# Of tcp_cubic.c and of tcp_bbr2.c, where gains and shares are in BBR_UNIT; beta is the window kept after a loss.
PARAMETERS: Final = {
    "beta": Parameter("717", "cubic", 1024),
    "loss_thresh": Parameter("5", "bbr", 256),
    "min_rtt_win_sec": Parameter("10", "bbr"),
    "pacing_gain": Parameter("320", "bbr", 256),
    "probe_rtt_mode_ms": Parameter("200", "bbr"),
}
SHOWN: Final = {"beta": "CUBIC's beta"}
# Means of at least this part of what pacing allows leave better values little room to show.
NEAR_BOUND: Final = 0.8
BOUND_NAME: Final = "what pacing allows the flows of one algorithm"
BOUNDS: Final = "Dotted: the rate that each flow is paced to, times the algorithm's flows"


def place_parameters(runs: pl.DataFrame) -> tuple[dict[str, float], Position]:
    """Return the places of the values in order of their numbers, and the axis: below a value of parts is its number."""
    values = list_values(runs, "parameter_value")
    names = [name for name in list_values(runs, "parameter_name") if name is not None]
    known = PARAMETERS.get(names[0]) if len(names) == 1 else None
    labels = [_label(value, known) for value in values]
    places = {value: float(place) for place, value in enumerate(values)}
    ticks = list(zip(places.values(), labels, strict=True))
    return places, Position(_title(names, known), -0.5, len(values) - 0.5, ticks)


def _title(names: Sequence[str], known: Parameter | None) -> str:
    if len(names) != 1:
        return "Value of the parameter"
    name = SHOWN.get(names[0], display_name(names[0]))
    return f"{name} (1/{known.parts})" if known and known.parts > 1 else name


def _label(value: str, known: Parameter | None) -> str:
    lines = [display_name(value)]
    if known and known.parts > 1:
        with contextlib.suppress(ValueError):
            lines.append(f"= {round(float(value) / known.parts, 3):g}")
    return "\n".join([*lines, *(["default"] if known and value == known.default else [])])


def compare_defaults(runs: pl.DataFrame, cells: pl.DataFrame, rate: Rate) -> str:
    """Return the sentence that compares means of other values with the default's, for each algorithm of a parameter.

    Empty where no default is known and measured; beside others of which none is, it names the parameters that it is
    about. `cells` are of these runs, and may lack the column of a single name.
    """
    only = pl.lit(runs["parameter_name"][0], pl.String).alias("parameter_name")
    named = cells if "parameter_name" in cells.columns else cells.with_columns(only)
    ratios: dict[str, list[float]] = {}
    for (_, name, cc), own in named.group_by("panel", "parameter_name", "cc", maintain_order=True):
        known = PARAMETERS.get(str(name))
        if not known or not str(cc).startswith(known.module):
            continue
        means = dict(own.select("parameter_value", "mean").rows())
        default = means.pop(known.default, 0.0)
        if default:
            ratios.setdefault(theme.style_of(str(cc)).name, []).extend(mean / default for mean in means.values())
    told = [
        f"{name} {' to '.join(dict.fromkeys(format_significant(end, 3) for end in (min(own), max(own))))} times"
        for name, own in ratios.items()
        if own
    ]
    names = list_values(runs, "parameter_name")
    compared = [SHOWN.get(name, display_name(name)) for name in names if name in PARAMETERS]
    of_which = "" if len(compared) == len(names) else f" of {join_names(compared)}"
    return f"Other values{of_which} gave {join_names(told)} the mean {rate} of the default" if told else ""


def list_bounds(runs: pl.DataFrame) -> list[float]:
    """Return the rates in bit/s that pacing allows the flows of an algorithm, in ascending order; none where unknown.

    A bottleneck that is narrower than they are takes their place, and they are left out.
    """
    bounds = runs.select(_bound()).to_series()
    return bounds.drop_nulls().unique().sort().to_list()


def compare_with_bounds(runs: pl.DataFrame, cells: pl.DataFrame) -> str:
    """Return the sentence that says which algorithms are near what pacing allows in all their cells; empty for none.

    Both frames have panel and cc; those of one algorithm in a panel have one bound.
    """
    bounds = runs.group_by("panel", "cc").agg(bound=_bound().drop_nulls().max())
    known = cells.join(bounds, on=["panel", "cc"]).drop_nulls(["mean", "bound"])
    parts = known.group_by("cc").agg(
        least=(pl.col("mean") / pl.col("bound")).min(), most=(pl.col("mean") / pl.col("bound")).max()
    )
    near = parts.filter(pl.col("least") >= NEAR_BOUND).sort("cc")
    told = [
        f"{theme.style_of(cc).name} has {100 * least:.0f} to {100 * most:.0f} % of what pacing allows in every panel, "
        "so only a value that did far worse would show"
        for cc, least, most in near.select("cc", "least", "most").rows()
    ]
    return "; ".join(told)


def _bound() -> pl.Expr:
    paced = pl.col("pacing_bps") * pl.col("cc_flows_count")
    return pl.when(pl.col("bottleneck_bps").is_null() | (pl.col("bottleneck_bps") >= paced)).then(paced)

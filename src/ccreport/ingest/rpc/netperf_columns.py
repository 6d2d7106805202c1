"""The columns of `rpc_tests` that netperf's tests become, each of the tests of all files at once.

What they come from are the texts that netperf printed, by selector, and what a banner and a histogram say, by column.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import polars as pl
import pyarrow.compute as pc

from ccreport.core.tables import load_schema
from ccreport.ingest.plausible import NOT_COUNTED
from ccreport.ingest.rpc.netperf_selectors import (
    COUNTS,
    FLOATS,
    LARGEST,
    MICROSECONDS,
    NO_TEXT,
    TEXTS,
    TRANSACTION_UNITS,
    UNIT_BITS,
    direction_of_name,
    read_direction,
    read_number,
)
from ccreport.ingest.rpc.rows import shown

OTHERS: Final = (
    *("DIRECTION", "THROUGHPUT", "THROUGHPUT_UNITS", "TRANSACTION_RATE", "RT_LATENCY"),
    *("LOCAL_SEND_SIZE", "REMOTE_SEND_SIZE"),
)
SELECTORS: Final = (*TEXTS, *COUNTS, *FLOATS, *MICROSECONDS, *OTHERS)
# What banner, histogram and interim results say of a test.
KNOWN: Final = (
    *("output_form", "test_name", "payload_direction", "transport", "client_host", "server_host", "burst_count"),
    *("value_unit", "latency_source", "latency_values_count"),
    *("latency_p50_ms", "latency_p90_ms", "latency_p99_ms", "latency_p999_ms"),
)
SEND_SIZE: Final = "a size"
NUMBERS: Final = (*COUNTS, *FLOATS, *MICROSECONDS, "TRANSACTION_RATE", "THROUGHPUT", SEND_SIZE)
TEST_NAME: Final = re.compile(r"\s-t\s*([A-Za-z_]{2,20})\b")

Report = Callable[[int, str, int], None]


def collect_texts(tests: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return as make_tests takes it what is known of tests, and their texts by selector."""
    schema = _list_types()
    return pl.DataFrame({name: [test.get(name) for test in tests] for name in schema}, schema=schema)


def _list_types() -> dict[str, pl.DataType]:
    types = load_schema("rpc_tests").polars
    return dict.fromkeys(SELECTORS, pl.String()) | {name: types[name] for name in KNOWN} | {"line": pl.Int64()}


def make_tests(texts: pl.DataFrame, known: Mapping[str, Any], report: Report) -> pl.DataFrame:
    """Return the columns of `rpc_tests` that tests fill, in their order; `report` what is not a value, which is null.

    It is called with the number of the row, in order, a message, and the line where the test begins. `known` is what
    all rows have.

    ASSUME: a THROUGHPUT without THROUGHPUT_UNITS has netperf's default unit: Trans/s of transactions, else 10^6bits/s.
    """
    given = texts.select(
        name if name in texts.columns else pl.lit(known.get(name), kind).alias(name)
        for name, kind in _list_types().items()
    )
    frame = _add_directions(_add_texts(given))
    malformed: list[tuple[int, str]] = []
    numbers = pl.DataFrame([_read_numbers(frame[name], malformed) for name in NUMBERS])
    has_latency = numbers.select(pl.any_horizontal(pl.col(*MICROSECONDS).is_not_null())).to_series()
    # Another latency replaces only those.
    latencies = _read_numbers(frame["RT_LATENCY"].zip_with(~has_latency, pl.Series([None], dtype=pl.String)), malformed)
    has_throughput = frame["THROUGHPUT"].is_not_null().alias("has_throughput")
    frame = frame.with_columns(*numbers, latencies, has_latency.alias("has_latency"), has_throughput)
    frame = _add_latencies(_add_rates(frame.with_columns(_convert_numbers(frame)), malformed))
    for number, message in sorted(malformed, key=lambda found: found[0]):
        report(number, message, frame["line"][number])
    names = [name for name in load_schema("rpc_tests").polars if name in frame.columns]
    return frame.select(pl.lit("netperf").alias("rpc_tool"), _name_cc().alias("cc"), *names)


def _map_texts(texts: pl.Series, change: Callable[[str], str | None]) -> pl.Series:
    """Return what each text becomes; most texts of one column are the same."""
    changed = {text: change(text) for text in texts.unique().drop_nulls()}
    if all(text == other for text, other in changed.items()):
        return texts
    return texts.replace_strict(changed, default=None, return_dtype=pl.String)


def _add_texts(frame: pl.DataFrame) -> pl.DataFrame:
    said = {
        column: pl.when(~pl.col(selector).is_in(NO_TEXT)).then(pl.col(selector)) for selector, column in TEXTS.items()
    }
    frame = frame.with_columns(
        (pl.coalesce(text, column) if column in KNOWN else text).alias(column) for column, text in said.items()
    )
    by_command = _map_texts(frame["command"], _find_name).alias("by_command")
    return frame.with_columns(by_command, *(_map_texts(frame[column], shown) for column in TEXTS.values()))


def _find_name(command: str) -> str | None:
    named = TEST_NAME.search(command)
    return None if named is None else named[1].upper()


def _add_directions(frame: pl.DataFrame) -> pl.DataFrame:
    """Add names of tests and directions, and the text of the send size on the side that sends bulk data."""
    is_named = pl.col("test_name").is_null() & (pl.col("by_command") != "OMNI")
    by_name = _map_texts(frame["by_command"], direction_of_name)
    frame = frame.with_columns(
        pl.coalesce("test_name", "by_command").alias("test_name"),
        pl.coalesce(
            _map_texts(frame["DIRECTION"], read_direction),
            pl.when(is_named).then(by_name).otherwise("payload_direction"),
        ).alias("payload_direction"),
    )
    sender = pl.when(pl.col("payload_direction") == "receive").then("REMOTE_SEND_SIZE")
    return frame.with_columns(
        sender.when(pl.col("payload_direction") == "send").then("LOCAL_SEND_SIZE").alias(SEND_SIZE)
    )


def _read_numbers(texts: pl.Series, malformed: list[tuple[int, str]]) -> pl.Series:
    """Return the numbers of texts, null where a text is none, or one that netperf's field cannot have."""
    numbers = texts.cast(pl.Float64, strict=False)
    others: dict[str, float | None] = {}
    broken: list[str] = []
    for text in texts.filter(numbers.is_null() & texts.is_not_null()).unique():
        try:
            others[text] = read_number(text)
        except ValueError:
            broken.append(text)
    if others:
        numbers = numbers.fill_null(texts.replace_strict(others, default=None, return_dtype=pl.Float64))
    if broken:
        malformed += [
            (number, f"{texts.name} is not a value of netperf: {shown(texts[number])}")
            for number in texts.is_in(broken).arg_true()
        ]
    is_possible = numbers.is_between(0, LARGEST, closed="left").fill_null(value=False)
    return numbers.zip_with(is_possible, pl.Series([None], dtype=pl.Float64))


def _in_ms(microseconds: pl.Series) -> pl.Series:
    # polars would multiply with a thousandth, whose last digit is not always that of a division.
    return pl.Series(pc.divide(microseconds.to_arrow(), 1000.0))


def _convert_numbers(frame: pl.DataFrame) -> list[pl.Expr | pl.Series]:
    found: dict[str, pl.Expr | pl.Series] = {
        column: (_counted(selector) if column.startswith("retransmits") else pl.col(selector)).cast(pl.Int64)
        for selector, column in COUNTS.items()
    }
    found |= {column: pl.col(selector) for selector, column in FLOATS.items()}
    found |= {column: _in_ms(frame[selector]) for selector, column in MICROSECONDS.items()}
    columns = [
        (pl.coalesce(number, column) if column in KNOWN else number).alias(column) for column, number in found.items()
    ]
    return [*columns, pl.when(pl.col(SEND_SIZE) > 0).then(pl.col(SEND_SIZE)).cast(pl.Int64).alias("send_bytes")]


def _counted(selector: str) -> pl.Expr:
    return pl.when(~pl.col(selector).is_in([float(mark) for mark in NOT_COUNTED])).then(pl.col(selector))


def _add_rates(frame: pl.DataFrame, malformed: list[tuple[int, str]]) -> pl.DataFrame:
    """Add both rates by the unit of THROUGHPUT; one without a rate is malformed."""
    default = {"transactions": "Trans/s", "send": "10^6bits/s", "receive": "10^6bits/s"}
    unit = pl.coalesce(
        "THROUGHPUT_UNITS", pl.col("payload_direction").replace_strict(default, default=None), pl.lit("")
    )
    rate, transactions = pl.col("THROUGHPUT"), pl.col("TRANSACTION_RATE")
    factor = unit.replace_strict(UNIT_BITS, default=None, return_dtype=pl.Float64)
    is_needed = unit.is_in(TRANSACTION_UNITS) & rate.is_not_null() & (transactions.fill_null(0) == 0)
    frame = frame.with_columns(
        pl.when(is_needed).then(rate).otherwise(transactions).alias("transaction_rate_tps"),
        (rate * factor).alias("payload_rate_bps"),
        pl.when(rate.is_not_null() & ~unit.is_in([*UNIT_BITS, *TRANSACTION_UNITS])).then(unit).alias("unknown_unit"),
    )
    units = frame["unknown_unit"]
    malformed += [
        (number, f"THROUGHPUT_UNITS is not a value of netperf: {shown(units[number])}")
        for number in units.is_not_null().arg_true()
    ]
    has_no_rate = pl.all_horizontal(pl.col("transaction_rate_tps", "payload_rate_bps").is_null())
    is_lost = frame.select(pl.col("has_throughput") & has_no_rate).to_series()
    message = "THROUGHPUT is not a number or has no known unit; select THROUGHPUT_UNITS too"
    malformed += [(number, message) for number in is_lost.arg_true()]
    return frame


def _add_latencies(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the mean latency that RT_LATENCY, else the rate of one transaction after the other, says."""
    rate = pl.col("transaction_rate_tps")
    by_rate = 1000.0 * (1 + pl.col("burst_count").fill_null(0)) / rate
    is_answered = (pl.col("payload_direction") == "transactions") & (rate != 0)
    mean = pl.when(~pl.col("has_latency")).then(
        pl.coalesce(_in_ms(frame["RT_LATENCY"]), pl.when(is_answered).then(by_rate))
    )
    source = pl.when("has_latency").then(pl.lit("tool")).when(pl.col("latency_source").is_not_null())
    return frame.with_columns(
        pl.coalesce("latency_mean_ms", mean).alias("latency_mean_ms"),
        source.then("latency_source").when(mean.is_not_null()).then(pl.lit("rate")).alias("latency_source"),
    )


def _name_cc() -> pl.Expr:
    """Return the algorithm of the side that sends more: the one that a test of its direction is about."""
    direction = pl.col("payload_direction")
    answers_more = pl.col("response_bytes").fill_null(0) > pl.col("request_bytes").fill_null(0)
    is_remote = (direction == "receive") | ((direction == "transactions") & answers_more)
    return pl.when(is_remote).then("cc_remote").when(direction.is_not_null()).then("cc_local")

import contextlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccreport.core.units import (
    UnitError,
    parse_iso_duration_s,
    parse_rate_bps,
    parse_size_bytes,
    parse_tc_rate_bps,
    parse_time_ms,
)


@pytest.mark.parametrize(
    ("text", "bps"),
    [
        ("194191.0Mbps", 194191.0e6),  # ss up to 5.1
        ("511958000000bps", 511958000000),  # ss 5.2 and later with -n
        ("62.9Gbps", 62.9e9),  # ss 5.7 and later without -n
        ("1.5Tbps", 1.5e12),
        ("850Kbps", 850e3),
        ("50mbit", 50e6),  # harness INI, tc
        ("2.4gbit", 2.4e9),
        ("32Kbit", 32e3),
        ("10000Mb/s", 10e9),  # ethtool
        ("1e+09", 1e9),
        ("0", 0),
    ],
)
def test_rates_are_decimal(text: str, bps: float) -> None:
    assert parse_rate_bps(text) == pytest.approx(bps)


def test_rates_that_are_bytes_are_not_taken_for_bits() -> None:
    for text in ("100MB/s", "10GBps", "5MBytes/s"):
        with pytest.raises(UnitError):
            parse_rate_bps(text)
    assert parse_rate_bps("2.4GBit/s") == parse_tc_rate_bps("2.4gbit") == parse_tc_rate_bps("2400 Mb/s") == 2.4e9
    with pytest.raises(UnitError, match=r"^bytes per second to tc, bits to most people; write 2\.5gbit or 20gbit$"):
        parse_tc_rate_bps("2.5Gbps")


@pytest.mark.parametrize(
    ("text", "size"), [("512K", 524288), ("6M", 6291456), ("131072", 131072), ("1.5G", 1610612736)]
)
def test_sizes_are_binary(text: str, size: int) -> None:
    assert parse_size_bytes(text) == size


@pytest.mark.parametrize(("text", "ms"), [("5ms", 5), ("2.5ms", 2.5), ("100us", 0.1), ("1s", 1000), ("20", 20)])
def test_times_default_to_ms(text: str, ms: float) -> None:
    assert parse_time_ms(text) == pytest.approx(ms)


@pytest.mark.parametrize(("text", "s"), [("PT5M", 300), ("PT60S", 60), ("PT1H30M", 5400), ("P1DT0.5S", 86400.5)])
def test_iso_durations(text: str, s: float) -> None:
    assert parse_iso_duration_s(text) == s


@pytest.mark.parametrize("parse", [parse_rate_bps, parse_size_bytes, parse_time_ms, parse_iso_duration_s])
@given(text=st.text())
def test_other_texts_raise_only_unit_errors(parse: Callable[[str], float], text: str) -> None:
    with contextlib.suppress(UnitError):
        assert parse(text) >= 0


@given(st.integers(0, 10**15))
def test_a_formatted_rate_parses_to_itself(bps: int) -> None:
    assert parse_rate_bps(f"{bps}bps") == bps

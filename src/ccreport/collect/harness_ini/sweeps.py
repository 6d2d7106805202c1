"""Values of the harness's INI files that describe a path or a sweep over several.

netem's arguments are those of `tc-netem(8)`: loss in percent, `gemodel` with up to four chances. The harness names a
kernel module's parameter by its path below /sys/module, and counts the elements of a vector from 1.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from ccreport.core.units import UnitError, parse_rate_bps, parse_tc_rate_bps, parse_time_ms

# A list longer than any that was swept is a slip, such as an increment of 1 over 0 to 10^9.
VALUES_MAX: Final = 10_000
RATE_BPS_MAX: Final = 1e15
PERCENT = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)%?")
PARAMETER = re.compile(r"/?(?:sys/module/)?(\w+)/parameters/(\w+)")


@dataclass(frozen=True)
class ParameterSweep:
    """Values that one parameter of a kernel module takes in turn; `element` counts from 1, null of a plain number."""

    module: str
    parameter: str
    values: tuple[int, ...]
    element: int | None = None


def parse_loss(text: str) -> dict[str, Any]:
    """Return netem's loss with the names of `plan.Loss`, of `0.01`, `0.001 gemodel` or `gemodel 0.1 20 50 0.1`.

    The mean share lost of `gemodel p r 1-h 1-k` is (p (1-h) + r (1-k)) / (p + r). As in netem, r is 100 - p, 1-h is
    100 and 1-k is 0 where they are not given. Raise UnitError for anything else, and for a correlation.
    """
    words = [word for word in text.replace(",", " ").lower().split() if word != "loss"]
    is_gilbert = "gemodel" in words
    numbers = [_parse_percent(word) for word in words if word not in ("gemodel", "random")]
    if not 1 <= len(numbers) <= (4 if is_gilbert else 1):
        raise UnitError(f"not a loss such as 0.001 or 0.001 gemodel (netem's correlation is not known): {text!r}")
    if not is_gilbert:
        return {"model": "random", "loss_pct": numbers[0]}
    enter, leave, bad, good = numbers + [100 - numbers[0], 100.0, 0.0][len(numbers) - 1 :]
    if not enter or not leave:
        raise UnitError(f"a state that is never left: {text!r}")
    return {
        "model": "gilbert-elliott",
        "loss_pct": round((enter * bad + leave * good) / (enter + leave), 9),
        "enter_bad_pct": tidy(enter),
        "leave_bad_pct": tidy(leave),
        "bad_loss_pct": tidy(bad),
        "good_loss_pct": tidy(good),
    }


def _parse_percent(word: str) -> float:
    match = PERCENT.fullmatch(word)
    if match is None or float(match[1]) > 100:
        raise UnitError(f"not a percentage: {word!r}")
    return float(match[1])


def parse_rtts(text: str) -> list[float]:
    """Return the RTTs of one-way delays such as `0.3,1,20` (ms) or `5ms`: twice each; raise UnitError."""
    return [tidy(2 * parse_time_ms(word)) for word in _split_list(text)]


def parse_limits(text: str) -> list[int]:
    """Return the packets of a list of netem limits; raise UnitError."""
    limits = [_parse_count(word) for word in _split_list(text)]
    if 0 in limits:
        raise UnitError("a limit of 0 packets lets nothing through")
    return limits


def parse_parameter_sweep(text: str) -> ParameterSweep:
    """Return the values of a `param-sweep`; raise UnitError for one that the harness would refuse, too.

    `PATH, sys-module-increment, FIRST, LAST, STEP` · `PATH, sys-module-list, V1, V2, …` ·
    `PATH, sys-module-vector-list, ELEMENT, V1, V2, …`, the path being `tcp_bbr/parameters/gain`.
    """
    path, kind, *rest = [*_split_list(text), "", ""]
    words = [word for word in rest if word]
    match = PARAMETER.fullmatch(path)
    if match is None:
        raise UnitError(f"not a parameter such as tcp_cubic/parameters/beta: {path!r}")
    numbers = [_parse_integer(word) for word in words]
    element = None
    if kind == "sys-module-increment" and len(numbers) == 3 and numbers[2] > 0:
        values: Sequence[int] = range(numbers[0], numbers[1] + 1, numbers[2])
    elif kind == "sys-module-list":
        values = numbers
    elif kind == "sys-module-vector-list" and len(numbers) >= 2 and numbers[0] >= 0:
        # The harness takes element 0 for "no vector".
        element, values = numbers[0] or None, numbers[1:]
    else:
        raise UnitError(f"not a sweep that the harness knows: {text!r}")
    if not 0 < len(values) <= VALUES_MAX:
        raise UnitError(f"{len(values)} values in {text!r}")
    return ParameterSweep(match[1], match[2], tuple(values), element)


def _split_list(text: str) -> list[str]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise UnitError(f"an empty list: {text!r}")
    return words


def _parse_count(word: str) -> int:
    number = _parse_integer(word)
    if number < 0:
        raise UnitError(f"below 0: {word!r}")
    return number


def _parse_integer(word: str) -> int:
    try:
        number = int(word)
    except ValueError as error:
        raise UnitError(f"not a whole number: {word!r}") from error
    if abs(number) >= 2**63:
        raise UnitError(f"not a number that a kernel takes: {word!r}")
    return number


def parse_rate(text: str) -> float:
    """Return a rate in bit/s; raise UnitError for anything that is none, or that no line has."""
    return _check_rate(parse_rate_bps(text), text)


def parse_tc_rate(text: str) -> float:
    """Return a rate that the harness gives to tc in bit/s; raise UnitError for bps, too."""
    return _check_rate(parse_tc_rate_bps(text), text)


def _check_rate(rate_bps: float, text: str) -> float:
    if not 0 < rate_bps < RATE_BPS_MAX:
        raise UnitError(f"not a rate that a line has: {text!r}")
    return rate_bps


def tidy(number: float) -> float:
    """Return a number as people write it: 2 x 0.3 is 0.6, and 40.0 is 40; raise UnitError for an infinite one."""
    if not math.isfinite(number):
        raise UnitError("an infinite number")
    rounded = round(number, 6)
    return int(rounded) if rounded == int(rounded) else rounded

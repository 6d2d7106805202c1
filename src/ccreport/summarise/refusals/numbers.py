"""Numbers in SQL of an evaluation that the database refuses for their unit or quotes, and how to write them."""

import re
from typing import Final

from ccreport.core.units import WITH_UNIT, convert_unit

SYNTAX: Final = "syntax error at or near"
# rtt_ms = 10ms, of which DuckDB refuses the unit
UNIT: Final = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)([A-Za-z]+)$")
# Could not convert string '0.01 %' to DOUBLE, and before the place: LINE 1: FROM runs WHERE loss_pct =
NOT_A_NUMBER: Final = re.compile(r"Could not convert string ['\"](.*)['\"] to (?:DOUBLE|U?INT\d+|DECIMAL)")
# 0.01 % is the number of a column in per cent; 5 Gbit/s is not that of one in bit/s.
NUMBER: Final = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*%?\s*")
COMPARED: Final = re.compile(r"([\w.]+)\s*([<>=!]+|\bIN\s*\()\s*$", re.IGNORECASE)
# LINE 2: host = 'a' AND AND rtt_ms > 5)
#                        ^^^
LINE: Final = re.compile(r"^(LINE \d+: (?:\.\.\.)?)(.*)\n( *)(\^+)", re.MULTILINE)


def name_compared(said: str, text: str) -> str:
    """Return how the column that a text was compared with is compared with a number; nothing of another refusal.

    `text` is what DuckDB says, and `said` its first line.
    """
    if not (refused := NOT_A_NUMBER.search(said)):
        return ""
    line = LINE.search(text)
    compared = COMPARED.search(line[2][: len(line[3]) - len(line[1])]) if line else None
    if compared is None:
        return "; a number takes no quotes"
    number = _read_number(refused[1], compared[1])
    blank = "" if compared[2].endswith("(") else " "
    return f"; {compared[1]} holds numbers" + (f": {compared[1]} {compared[2]}{blank}{number}" if number else "")


def _read_number(value: str, column: str) -> str:
    """Return a number in the unit of a column, nothing where a text is not that of one."""
    if with_unit := WITH_UNIT.fullmatch(value.strip()):
        meant = convert_unit(float(with_unit[1]), with_unit[2].lower(), column)
        if meant is not None:
            return f"{meant:.12g}"
    found = NUMBER.fullmatch(value)
    return found[1] if found else ""


def name_number(text: str) -> str:
    """Return how a number is written whose unit DuckDB refuses; `text` is what it says."""
    line = LINE.search(text) if SYNTAX in text else None
    before = line[2][: len(line[3]) + len(line[4]) - len(line[1])] if line else ""
    number = UNIT.search(before)
    if not number or f'"{number[2]}"' not in text:
        return ""
    compared = COMPARED.search(before[: number.start()])
    meant = convert_unit(float(number[1]), number[2].lower(), compared[1]) if compared else None
    return f"; a number takes no unit: {number[1] if meant is None else f'{meant:.12g}'}"

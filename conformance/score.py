"""Score a parser against the right values of real files: `python conformance/score.py COMMAND...`.

For each file of `inputs/` the command is called with two more words, the format (iperf3, ss, mpstat) and the file, and
prints a JSON object: quantities by name, and `parts`, an object of such objects by the name of the part. What a file
does not say is null or absent. An exit status other than 0 says that the file has no result.

Only the standard library is needed. The exit status is 0 where all values are right.
"""

import argparse
import csv
import json
import math
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
HAS_RESULT = "has_result"
Found = Mapping[str, Any]


def read_expected() -> dict[str, dict[tuple[str, str], str]]:
    """Return the right values of each file by part and quantity, as texts; empty is what the file does not say."""
    expected: dict[str, dict[tuple[str, str], str]] = defaultdict(dict)
    with (HERE / "expected.csv").open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            expected[row["file"]][row["part"], row["quantity"]] = row["value"]
    return expected


def is_right(found: Any, expected: str) -> bool:
    """Return whether a value of JSON is the expected one: numbers to six digits, as printed ones are rounded."""
    if found is None or expected == "":
        return found is None and expected == ""
    if isinstance(found, bool):
        return json.dumps(found) == expected
    if isinstance(found, int | float):
        try:
            return math.isclose(found, float(expected), rel_tol=1e-6)
        except ValueError:
            return False
    return str(found) == expected


def score(parse: Callable[[str, Path], Found | None]) -> list[tuple[str, str, str, Any, str]]:
    """Return file, part, quantity, found and right value of all that are wrong; `parse` gives None for no result."""
    wrong = []
    for name, values in read_expected().items():
        found = parse(name.partition("/")[0], HERE / "inputs" / name)
        for (part, quantity), right in values.items():
            if quantity == HAS_RESULT:
                value: Any = found is not None
            else:
                own = (found or {}).get("parts", {}).get(part, {}) if part else found or {}
                value = own.get(quantity)
            if not is_right(value, right):
                wrong.append((name, part, quantity, value, right))
    return wrong


def run(command: list[str], format: str, file: Path) -> Found | None:
    """Return what a command prints of a file, None where it fails."""
    done = subprocess.run([*command, format, str(file)], capture_output=True, check=False)  # noqa: S603
    if done.returncode:
        return None
    try:
        found = json.loads(done.stdout)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def describe(wrong: list[tuple[str, str, str, Any, str]]) -> str:
    """Return what is wrong, a line each, and the score of each format."""
    lines = [
        f"{name}{f' [{part}]' if part else ''}: {quantity} is {json.dumps(value)}, right is {right or 'null'}"
        for name, part, quantity, value, right in wrong
    ]
    every = Counter(name.partition("/")[0] for name, values in read_expected().items() for _ in values)
    failed = Counter(name.partition("/")[0] for name, *_ in wrong)
    scores = [f"{format}: {count - failed[format]} of {count} values right" for format, count in every.items()]
    return "\n".join([*lines, *scores, f"all: {every.total() - failed.total()} of {every.total()}"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", nargs=argparse.REMAINDER, help="the parser and its own options")
    command = parser.parse_args().command
    if not command:
        parser.error("name the command to score")
    found_wrong = score(lambda format, file: run(command, format, file))
    print(describe(found_wrong))
    sys.exit(bool(found_wrong))

"""The conformance data: its own readers get every value right, and a wrong parser is seen to be wrong."""

import sys
from pathlib import Path
from typing import Any

import ccreport_parser
import pytest
import score
from archives import ROOT

EXPECTED = score.read_expected()


@pytest.fixture(scope="module")
def wrong() -> list[tuple[str, str, str, Any, str]]:
    return score.score(ccreport_parser.parse)


def test_ccreport_gets_every_value_right(wrong: list[tuple[str, str, str, Any, str]]) -> None:
    assert wrong == []
    count = sum(map(len, EXPECTED.values()))
    assert count > 600
    assert score.describe(wrong).splitlines()[-1] == f"all: {count} of {count}"


def test_every_expectation_has_its_file_and_the_reverse() -> None:
    files = {str(path.relative_to(ROOT / "conformance/inputs")) for path in ROOT.glob("conformance/inputs/*/*")}
    assert EXPECTED.keys() <= files
    # Of these there is no value that is not a matter of taste: what to make of a stream of events, or of half a file.
    assert {Path(name).stem for name in files - EXPECTED.keys()} == {"stream-3.17.1", "stream-3.20", "mpstat_kill"}


@pytest.mark.parametrize(
    ("found", "expected", "right"),
    [
        (20.5, "20.5", True),
        (20.6, "20.5", False),
        (233029200000.0, "233029200000", True),
        (None, "", True),
        (0, "", False),
        (None, "0", False),
        (True, "true", True),
        (1, "true", False),
        ("cubic", "cubic", True),
        ("5", "5", True),
    ],
)
def test_values_are_compared_as_what_they_are(found: Any, expected: str, right: bool) -> None:
    assert score.is_right(found, expected) is right


def test_a_foreign_command_is_scored(tmp_path: Path) -> None:
    # It finds nothing but the version of iperf3, and fails for what is not JSON.
    script = tmp_path / "foreign.py"
    script.write_text(
        "import json, sys\n"
        "start = json.load(open(sys.argv[2]))['start']\n"
        "print(json.dumps({'tool_version': start['version'].split()[1]}))\n"
    )
    found = score.run([sys.executable, str(script)], "iperf3", ROOT / "conformance/inputs/iperf3/iperf3_p2.json")
    assert found == {"tool_version": "3.12"}
    assert score.run([sys.executable, str(script)], "ss", ROOT / "conformance/inputs/ss/v4.9.0.txt") is None
    wrong = score.score(lambda _, file: found if file.stem == "iperf3_p2" else None)
    of_file = [quantity for name, _, quantity, *_ in wrong if name == "iperf3/iperf3_p2.json"]
    assert len(of_file) == len(EXPECTED["iperf3/iperf3_p2.json"]) - 2
    assert not {"tool_version", "has_result"} & set(of_file)

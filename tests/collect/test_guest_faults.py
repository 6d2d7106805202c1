"""What a testbed answers to an order that fails."""

import json
import re
from pathlib import Path

import pytest

from ccreport.collect.testbed import guest
from ccreport.collect.testbed.testbed import TestbedError


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (TestbedError("no echo comes back"), r"no echo comes back$"),
        (KeyError("x"), r"KeyError: 'x' \(test_guest_faults.py:\d+\)$"),
    ],
)
def test_only_a_fault_of_the_program_is_told_with_its_place(
    fault: Exception,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise fault

    said: list[dict[str, str]] = []
    monkeypatch.setattr(guest, "SLOT", tmp_path)
    monkeypatch.setattr(guest, "measure_paths", fail)
    monkeypatch.setattr(guest, "_say", lambda **answer: said.append(answer))
    (tmp_path / guest.ORDER).write_text(json.dumps({"do": "calibrate", "numbers": "numbers.json"}))
    (tmp_path / "numbers.json").write_text("[]")
    guest._answer_orders({"packets_count": 1000})
    (answer,) = said
    assert answer["event"] == "failed"
    assert re.match(message, answer["message"])

"""What the programs of this machine say of a campaign's arguments before a run."""

from pathlib import Path
from typing import Any

import pytest
from test_campaign import declare

from ccreport.collect import called_programs
from ccreport.collect.called_programs import check_called
from ccreport.collect.declare.campaign import CampaignError, read_campaign

RPC = {"request_bytes": 1, "response_bytes": 1}
# Each ends at a word that it does not know, as the real ones do.
PROGRAMS = {
    "iperf3": "for word; do [ $word = --bogus ] && { echo \"iperf3: unrecognized option '$word'\" >&2; exit 1; }; done",
    "netperf": "[ $4 = -z ] && echo \"netperf: invalid option -- 'z'\" >&2; echo Usage: >&2; exit 1",
    "tcpdump": '[ "$2" = tcp ] || { echo tcpdump: syntax error >&2; exit 1; }',
}
CASES: dict[str, tuple[dict[str, Any], str | None]] = {
    "job": ({"extra_arguments": ["-N", "--bogus"]}, "extra_arguments: iperf3: unrecognized option '--bogus'"),
    "client": (
        {"clients": [{}, {"rpc": RPC, "extra_arguments": ["-z"]}]},
        "clients.1.extra_arguments: netperf: invalid option -- 'z'",
    ),
    "filter": (
        {"instruments": {"capture": {"filter": "prot 9"}}},
        "instruments.capture.filter: `prot 9`: tcpdump: syntax error",
    ),
    "sound": (
        {"extra_arguments": ["-N"], "instruments": {"capture": {"filter": "tcp"}}},
        None,
    ),
    "no arguments": ({"rpc": RPC, "extra_arguments": ["-D"]}, None),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("is_installed", [True, False])
def test_what_a_program_does_not_know_is_told_before_a_run(
    case: str, is_installed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, told = CASES[case]
    for name, script in PROGRAMS.items() if is_installed else ():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr(called_programs, "SEARCH_PATH", str(tmp_path))
    called_programs._find_wrong_option.cache_clear()
    called_programs._find_wrong_filter.cache_clear()
    declared = read_campaign(declare({"name": "a", "duration_s": 5} | job))
    if told is None or not is_installed:
        check_called(declared)
        return
    with pytest.raises(CampaignError) as raised:
        check_called(declared)
    assert str(raised.value) == f"session one, job a, {told}"

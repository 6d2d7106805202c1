"""A campaign that is collected again after its declaration was edited: what may change, and what is calibrated then."""

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_collect_resume import append_attempt, begin, make_attempt
from test_planning import KERNEL, plan

from ccreport.__main__ import main
from ccreport.collect import plan as contract
from ccreport.collect.calibrations import join_calibrations, list_failed, list_uncalibrated
from ccreport.collect.collect import describe_end, find_campaign, show_plan
from ccreport.collect.engines import Place
from ccreport.collect.plan import Plan
from ccreport.collect.sessions import describe_job, read_json, write_json
from ccreport.collect.sweep import Collection
from ccreport.core.errors import InputError

JOB = {"sender_mbps": 20, "rtt_ms": 40, "loss_pct": 1}
SWEPT = {"sender_mbps": 20, "parameter_sweep": {"name": "tcp_cubic.beta", "values": [512, 717]}}
TO_BOTH = {"destinations": [{"alias": "near", "rtt_ms": 10}, {"alias": "far", "rtt_ms": 80}], "sender_mbps": 20}
TO_NEAR = {"destinations": TO_BOTH["destinations"][:1], "sender_mbps": 20}
IMPOSSIBLE = contract.Testbed(engine="namespaces", clock="virtual")


def collect_all(archive: Path, planned: Plan) -> Path:
    """Return a session that has every run of a plan, as far as a later call looks at them."""
    session = begin(archive)
    for job in planned.jobs:
        describe_job(session, job, "6.1.176")
    for run in planned.runs:
        (session / run.job / f"src-cmd:{run.suffix}").write_text("{}")
        append_attempt(session, make_attempt(run))
    return session


def check_again(archive: Path, session: Path, planned: Plan) -> None:
    Collection(planned, archive, archive, {"one": session}).check_fingerprints()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (JOB, JOB | {"rtt_ms": [40, 75]}),
        (JOB, JOB | {"rtt_ms": 75}),
        (JOB | {"rtt_ms": [10, 40]}, JOB | {"iterations_count": 3, "rtt_ms": [40, 75]}),
        (SWEPT, SWEPT | {"parameter_sweep": {"name": "tcp_cubic.beta", "values": [600]}}),
        (
            {"limit_packets_count": [100, 200], "sender_mbps": 20},
            {"limit_packets_count": [300, 400], "sender_mbps": 20},
        ),
        (TO_BOTH, TO_NEAR),
        (TO_NEAR, TO_BOTH),
        # Another name is another job.
        (JOB, JOB | {"name": "b", "rtt_ms": 75, "loss_pct": 0.1}),
    ],
)
def test_a_sweep_may_have_other_values(tmp_path: Path, before: dict[str, Any], after: dict[str, Any]) -> None:
    session = collect_all(tmp_path, plan(before))
    check_again(tmp_path, session, plan(after))


@pytest.mark.parametrize(
    ("before", "after", "key"),
    [
        (JOB, JOB | {"rtt_ms": 75, "sender_mbps": 30}, "one/a/10.201.1.2:1:40.0ms"),
        (JOB, JOB | {"rtt_ms": 75, "loss_pct": 0.1}, "one/a/10.201.1.2:1:40.0ms"),
        (JOB, JOB | {"rtt_ms": 75, "duration_s": 6}, "one/a/10.201.1.2:1:40.0ms"),
        (JOB, JOB | {"rtt_ms": [75, 80], "sysctls": {"net.ipv4.tcp_sack": 0}}, "one/a/10.201.1.2:1:40.0ms"),
        # Results of netperf are in files of another name.
        (JOB, JOB | {"rpc": {"request_bytes": 1, "response_bytes": 9}}, "one/a/10.201.1.2:1:40.0ms"),
        (SWEPT, SWEPT | {"parameter_sweep": {"name": "tcp_cubic.bic_scale", "values": [41]}}, "beta:512"),
        (TO_BOTH, TO_NEAR | {"loss_pct": 1}, "one/a/far:1:80.0ms"),
        # A buffer of one BDP is another at another RTT: 250,000 bytes at 40 ms.
        (
            {"bottleneck_mbps": 50, "buffer_bdp": 1, "rtt_ms": 40},
            {"bottleneck_mbps": 50, "buffer_bdp": 1, "rtt_ms": 75},
            "one/a/10.201.1.2:1:40.0ms",
        ),
    ],
)
def test_a_job_with_other_settings_is_refused(
    tmp_path: Path, before: dict[str, Any], after: dict[str, Any], key: str
) -> None:
    session = collect_all(tmp_path, plan(before))
    with pytest.raises(InputError, match=r"has changed: .*; give the job one/a another name, collect into") as raised:
        check_again(tmp_path, session, plan(after))
    assert key in str(raised.value)


def test_what_changed_is_named_with_both_values(tmp_path: Path) -> None:
    session = collect_all(tmp_path, plan(JOB))
    declared = "jobs:\n- {name: a, loss_pct: %s, rtt_ms: [40, %s]%s}\n- {name: b, duration_s: 5}\n"
    (session / "campaign.yaml").write_text(declared % (0, 75, ""))
    (tmp_path / "now.yaml").write_text(declared % (0.1, 80, ", duration_s: 6"))
    collection = Collection(plan(JOB | {"loss_pct": 0.1}), tmp_path, tmp_path / "now.yaml", {"one": session})
    with pytest.raises(InputError) as raised:
        collection.check_fingerprints()
    changed = "jobs.a.loss_pct 0.1 (was 0), jobs.a.rtt_ms [40, 80] (was [40, 75]), jobs.a.duration_s 6 (was left out)"
    assert f"has changed: {changed}; give the job one/a another name" in str(raised.value)


def test_runs_whose_files_were_removed_do_not_count(tmp_path: Path) -> None:
    session = collect_all(tmp_path, plan(JOB))
    for path in (session / "a").glob("src-cmd:*"):
        path.unlink()
    check_again(tmp_path, session, plan(JOB | {"rtt_ms": 75, "loss_pct": 0.1}))


def test_a_check_leaves_a_line_that_is_being_written(tmp_path: Path) -> None:
    session = collect_all(tmp_path, plan(JOB))
    with (session / "attempts.jsonl").open("a") as stream:
        stream.write('{"run": "10.2')
    check_again(tmp_path, session, plan(JOB))
    assert (session / "attempts.jsonl").read_text().endswith('{"run": "10.2')


def test_only_new_paths_are_calibrated() -> None:
    def measure(quantity: str, conditions: str) -> dict[str, Any]:
        return {"quantity": quantity, "conditions": conditions, "is_within": True}

    runs = plan({"rtt_ms": [40, 75], "sender_mbps": 20, "iterations_count": 2}).runs
    path = "RTT 40 ms, line rate 20 Mbit/s"
    first = {"elapsed_s": 3.0, "capacity_bps": None, "attempt": 1, "measurements": [measure("rtt", f"{path}; least")]}
    assert list_uncalibrated(runs, None) == list(runs)
    assert {run.routes[0].rtt_ms for run in list_uncalibrated(runs, first)} == {75.0}
    assert list_uncalibrated([run for run in runs if run.routes[0].rtt_ms == 40], first) == []
    again = [measure("rtt", f"{path}; median"), measure("loss", "RTT 75 ms, line rate 20 Mbit/s; forward")]
    joined = join_calibrations(
        first | {"measurements": [*first["measurements"], measure("rate", path)]},
        {"elapsed_s": 2.0, "capacity_bps": None, "attempt": 2, "measurements": again},
    )
    assert joined == {
        "elapsed_s": 5.0,
        "capacity_bps": None,
        "attempt": 2,
        "measurements": [measure("rate", path), *again],
    }


def test_a_failed_calibration_names_the_jobs_that_have_the_path() -> None:
    rtts = {"a": 40, "b": 40, "c": 40, "d": 40, "e": 75}
    jobs = [{"name": name, "sender_mbps": 20, "rtt_ms": rtt, "iterations_count": 2} for name, rtt in rtts.items()]
    runs = plan(*jobs).runs
    probe = {"quantity": "rtt", "measured": 41.0, "unit": "ms", "nominal": 40.0, "low": 39.5, "high": 40.5}
    near = probe | {"is_within": False, "conditions": "RTT 40 ms, line rate 20 Mbit/s; least"}
    far = near | {"conditions": "RTT 75 ms, line rate 20 Mbit/s; least"}
    said = "rtt 41 ms where 40 was set (39.5 to 40.5 allowed; RTT {} ms, line rate 20 Mbit/s; least)"
    told = list_failed({"measurements": [near, probe | {"is_within": True, "conditions": ""}, far]}, runs)
    assert told == [f"a, b, c and 1 more: {said.format(40)}", f"e: {said.format(75)}"]


def test_a_dry_run_ends_as_the_call_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = collect_all(tmp_path, plan(JOB))
    (session.parent / ".partial").rmdir()
    changed = Collection(plan(JOB | {"loss_pct": 2}), tmp_path, tmp_path, {"one": session})
    with pytest.raises(InputError, match="has changed"):
        show_plan(changed)
    assert capsys.readouterr().out == ""
    # Where nothing is missing, nothing is needed either.
    show_plan(Collection(replace(plan(JOB), testbed=IMPOSSIBLE), tmp_path, tmp_path, {"one": session}))
    assert capsys.readouterr().out.splitlines()[-1].startswith("all runs are in the archive, so nothing is left")
    with pytest.raises(InputError, match=r"clock: virtual needs a user-mode kernel|apt-get install"):
        show_plan(Collection(replace(plan(JOB), testbed=IMPOSSIBLE), tmp_path, tmp_path, {}))
    assert "1 run of 1 job" in capsys.readouterr().out


def test_a_dry_run_tells_once_of_a_setting_that_the_kernel_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "linux").write_bytes(b"\x7fELF\0tcp_sack\0tcp_fastopen_key\0")
    kernel = replace(KERNEL, path=tmp_path / "linux", algorithms=frozenset({"cubic", "bbr"}), has_modules=False)
    monkeypatch.setattr("ccreport.collect.collect.choose_place", lambda _: Place("user-mode-kernel", "virtual", kernel))
    told = "the user-mode kernel has no setting net.ipv4.tcp_sac; did you mean `net.ipv4.tcp_sack`?"
    with pytest.raises(InputError, match=f"^{re.escape(told)}$"):
        show_plan(Collection(plan(JOB | {"sysctls": {"net.ipv4.tcp_sac": 1}}), tmp_path, tmp_path, {}))
    assert "no setting" not in capsys.readouterr().out
    show_plan(Collection(plan(JOB | {"sysctls": {"net.ipv4.tcp_fastopen_key": "0-0-0-1"}}), tmp_path, tmp_path, {}))
    told = "note: only that kernel can check the value of net.ipv4.tcp_fastopen_key"
    assert capsys.readouterr().out.splitlines()[-1] == told


def test_a_sweep_says_which_runs_keep_another_seed_and_clock(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And with the same, or where there are no runs yet, nothing."""
    monkeypatch.setattr("ccreport.collect.collect.choose_place", lambda _: Place("namespaces", "real"))
    session, before = collect_all(tmp_path, plan(JOB)), plan(JOB | {"rtt_ms": [40, 75]})
    write_json(session / "session.json", read_json(session / "session.json") | {"seed": 1, "clock": "virtual"})
    assert Collection(before, tmp_path, tmp_path, {"one": session}).list_other_testbeds() == []
    after = replace(before, testbed=replace(before.testbed, seed=2, clock="real"))
    assert Collection(after, tmp_path, tmp_path, {}).list_other_testbeds() == []
    show_plan(Collection(after, tmp_path, tmp_path, {"one": session}))
    assert (
        "warning: a run of session one was made with seed 1 (the campaign now has 2) and clock virtual (the campaign "
        "now has real) and will be kept; to measure again, collect into another folder\n"
    ) in capsys.readouterr().out


def test_a_dry_run_ends_with_1_where_the_kernel_lacks_an_algorithm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ccreport.collect.collect.choose_place", lambda _: Place("user-mode-kernel", "virtual", KERNEL))
    campaign = tmp_path / "mine.yaml"
    job = "{name: a, congestion_control: mine, duration_s: 5, sender_mbps: 20}"
    campaign.write_text(f"title: Mine\nsessions: [{{label: one, jobs: [{job}]}}]\n")
    given = ["--campaign", str(campaign), "--archive", str(tmp_path / "archive")]
    assert main(["collect", *given, "--dry-run"]) == 1
    printed = capsys.readouterr()
    assert printed.out.splitlines()[-1] == "engine: user-mode kernel uml/linux, in virtual time"
    assert printed.err == (
        f"ccreport: {campaign}:2: session one, job a, congestion_control: the user-mode kernel has no congestion "
        "control mine; it has cubic; choose one of these, or another kernel by --kernel\n"
    )
    assert not (tmp_path / "archive").exists()


@pytest.mark.parametrize(
    ("key", "name", "meant"),
    [
        ("sysctls", "net.ipv4.tcp_sac", "did you mean `net.ipv4.tcp_sack`?"),
        ("module_parameters", "tcp_cubic.betta", "did you mean `tcp_cubic.beta`?"),
        ("parameter_sweep", "cubic.beta", "did you mean `tcp_cubic.beta`?"),
    ],
)
def test_a_dry_run_tells_job_and_line_of_a_setting_that_the_kernel_lacks(
    key: str, name: str, meant: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "linux").write_bytes(b"\x7fELF\0tcp_sack\0tcp_cubic.beta\0")
    kernel = replace(KERNEL, path=tmp_path / "linux", has_modules=False)
    monkeypatch.setattr("ccreport.collect.collect.choose_place", lambda _: Place("user-mode-kernel", "virtual", kernel))
    campaign = tmp_path / "mine.yaml"
    setting = f"{{name: {name}, values: [1]}}" if key == "parameter_sweep" else f"{{{name}: 1}}"
    jobs = f"      - {{name: a}}\n      - name: b\n        {key}:\n          {setting}\n"
    common = "{congestion_control: cubic, duration_s: 5, sender_mbps: 20}"
    campaign.write_text(f"title: Mine\ndefaults: {common}\nsessions:\n  - label: one\n    jobs:\n{jobs}")
    given = ["--campaign", str(campaign), "--archive", str(tmp_path / "archive")]
    assert main(["collect", *given, "--dry-run"]) == 1
    told = f"{campaign}:8: session one, job b, {key}: the user-mode kernel has no setting {name}; {meant}\n"
    assert capsys.readouterr().err == f"ccreport: {told}"


def test_a_file_is_not_an_archive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    for place in ("file", "file/below"):
        given = ["--campaign", "quick", "--archive", str(tmp_path / place)]
        assert main(["collect", *given, "--dry-run"]) == 1
        assert capsys.readouterr().err == f"ccreport: {tmp_path / 'file'} is a file; --archive names a folder\n"


def test_a_folder_is_not_a_campaign(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["collect", "--campaign", str(tmp_path), "--archive", str(tmp_path / "a"), "--dry-run"]) == 1
    assert capsys.readouterr().err == f"ccreport: {tmp_path} is a folder; name a file in it\n"


def test_a_folder_of_other_things_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["collect", "--campaign", "quick", "--archive", str(tmp_path), "--dry-run"]
    (tmp_path / "thesis.txt").touch()
    main(given)
    assert f"warning: {tmp_path} holds thesis.txt, which the report of this archive would read, too" in (
        capsys.readouterr().err
    )
    (tmp_path / "a.tar.zst").touch()
    assert main(given) == 1
    assert capsys.readouterr().err == (
        f"ccreport: {tmp_path} holds packed archives, such as a.tar.zst; "
        "move or delete them, or name another --archive\n"
    )


def test_the_end_of_a_sweep_says_what_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signal.signal", lambda *_: None)
    archive = tmp_path / "my archive"
    session = collect_all(archive, plan(JOB | {"rtt_ms": [40, 75]}))
    collection = Collection(plan(JOB | {"rtt_ms": [40, 75, 90]}), archive, archive, {"one": session})
    assert describe_end(collection, 1) == f"2 of 3 runs in {archive}; make report ARCHIVE='{archive}'"
    # Where all runs failed a report would hold nothing.
    collection.plan = plan(JOB | {"rtt_ms": [90, 95]})
    assert describe_end(collection, 2) == f"0 of 2 runs in {archive}; nothing to report on yet"
    collection.plan = plan(JOB | {"rtt_ms": [40, 75]})
    assert describe_end(collection, 1) == f"2 runs in {archive}; make report ARCHIVE='{archive}'"
    assert describe_end(collection, 0).startswith("nothing was missing: 2 runs in ")
    # Beside those of another campaign.
    (archive / "2026-01-01:00:00").mkdir()
    write_json(archive / "2026-01-01:00:00" / "session.json", {})
    assert describe_end(collection, 1).startswith(f"2 runs of campaign {collection.plan.campaign} in {archive}; ")
    shutil.rmtree(archive / "2026-01-01:00:00")
    # As the command ends that has nothing to do.
    told = session / "session.json"
    told.write_text(told.read_text().replace('"sweep"', '"mine"').replace('"main"', '"one"'))
    campaign = tmp_path / "mine.yaml"
    job = "{name: a, duration_s: 5, sender_mbps: 20, rtt_ms: [40, 75], loss_pct: 1}"
    campaign.write_text(f"title: Mine\nsessions: [{{label: one, jobs: [{job}]}}]\n")
    assert main(["collect", "--campaign", str(campaign), "--archive", str(archive)]) == 0
    assert capsys.readouterr().out == f"nothing was missing: 2 runs in {archive}; make report ARCHIVE='{archive}'\n"


def test_small_volumes_are_told_while_runs_are_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = {"sender_mbps": 20, "duration_s": None, "volume_bytes": 9000}
    session = collect_all(tmp_path / "archive", plan(facts))
    told = session / "session.json"
    told.write_text(told.read_text().replace('"sweep"', '"mine"').replace('"main"', '"one"'))
    campaign = tmp_path / "mine.yaml"
    job = "{name: a, volume_bytes: 9000, sender_mbps: 20}"
    campaign.write_text(f"title: Mine\nsessions: [{{label: one, jobs: [{job}]}}]\n")
    for archive, is_told in (("archive", False), ("none", True)):
        main(["collect", "--campaign", str(campaign), "--archive", str(tmp_path / archive), "--dry-run"])
        assert ("job a, volume_bytes: " in capsys.readouterr().err) == is_told


def test_a_campaign_of_another_name_is_guessed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("mine", "sample"):
        (tmp_path / f"{name}.yaml").touch()
    assert find_campaign(Path("mine"), tmp_path) == tmp_path / "mine.yaml"
    assert find_campaign(Path("elsewhere/mine.yaml"), tmp_path) == Path("elsewhere/mine.yaml")
    with pytest.raises(InputError, match=r"^no campaign is called `minne`; did you mean `mine`\?$"):
        find_campaign(Path("minne"), tmp_path)
    with pytest.raises(InputError, match=r"`qqq`; there are mine, sample$"):
        find_campaign(Path("qqq"), tmp_path)

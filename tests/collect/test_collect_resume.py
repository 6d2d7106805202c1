"""The ledger and the archive of a sweep after a kill at any point, in folders made for it; no testbed is started."""

import json
import os
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pytest

from ccreport.collect import plan as contract
from ccreport.collect.attempts import Attempt, append_attempt, count_attempts, read_attempts
from ccreport.collect.declare.order import order_runs, place_in_time
from ccreport.collect.engines import Guest, GuestEnded, Place, choose_place
from ccreport.collect.plan import Client, Plan, Route, Run, Sender, VirtualClock
from ccreport.collect.progress import Progress, describe_progress, format_duration
from ccreport.collect.sessions import (
    end_attempt,
    find_sessions,
    is_complete,
    lock_archive,
    make_session,
    remove_rest,
    write_journal,
    write_json,
)
from ccreport.collect.slots import Slot
from ccreport.collect.sweep import Collection
from ccreport.collect.testbed.commands import (
    WrongCallError,
    find_fault,
    limit_s,
    list_client_commands,
    list_server_command,
    name_output,
)
from ccreport.collect.testbed.instruments import judge_cpu
from ccreport.collect.testbed.kernel_drops import compare_drops, name_host_limit
from ccreport.collect.virtual_time import VirtualGuest
from ccreport.core.errors import InputError

ROUTE = Route("10.201.1.2", "10.201.1.2", None, 20.0)
NOW = datetime(2026, 11, 20, 22, 19, 30, tzinfo=UTC)


def make_run(suffix: str = "10.201.1.2:1", **changes: object) -> Run:
    facts = {"clients": (Client(1, "10.201.1.2", duration_s=10.0),), "expected_s": 12.0} | changes
    return Run("main", "job", suffix, 1, (ROUTE,), (Sender(1),), **facts)  # type: ignore[arg-type]


def make_plan(*runs: Run, **testbed: object) -> Plan:
    return Plan("sweep", "A sweep", contract.Testbed(**testbed), ("main",), (), runs)  # type: ignore[arg-type]


def make_attempt(run: Run, number: int = 1, outcome: str = "completed") -> Attempt:
    elapsed_s = None if outcome == "interrupted" else 11.5
    return Attempt(  # type: ignore[arg-type]
        run.suffix, run.job, number, "2026-11-20T22:19:30Z", elapsed_s, outcome, None, run.fingerprint()
    )


def begin(archive: Path) -> Path:
    """Return a session's folder with an empty job in it."""
    (archive / ".partial").mkdir(parents=True)
    declaration = archive / "sweep.yaml"
    declaration.write_text("title: A sweep\n")
    session = make_session(archive, {"campaign": "sweep", "label": "main"}, declaration, NOW)
    (session / "job").mkdir()
    return session


def make_files(archive: Path, run: Run, folder: str = "attempt-1") -> Path:
    """Return a slot with the files of an attempt in it, as a testbed leaves them."""
    slot = archive / ".partial/slot-1"
    (slot / folder / "edge/cubic").mkdir(parents=True)
    for name in (f"src-cmd:{run.suffix}", f"ss:{run.suffix}", "edge/cubic/ss-neit:1795213048"):
        (slot / folder / name).write_text(name)
    return slot


def list_files(session: Path) -> list[str]:
    return sorted(str(path.relative_to(session / "job")) for path in (session / "job").rglob("*") if path.is_file())


WHOLE = ["edge/cubic/ss-neit:1795213048", "src-cmd:10.201.1.2:1", "ss:10.201.1.2:1"]


def test_a_cut_line_of_the_ledger_is_taken_away(tmp_path: Path) -> None:
    run = make_run()
    append_attempt(tmp_path, make_attempt(run, 1, "failed"))
    whole = (tmp_path / "attempts.jsonl").read_bytes()
    (tmp_path / "attempts.jsonl").write_bytes(whole + b'{"run": "10.2')
    assert read_attempts(tmp_path) == [make_attempt(run, 1, "failed")]
    assert (tmp_path / "attempts.jsonl").read_bytes() == whole
    append_attempt(tmp_path, make_attempt(run, 2))
    assert count_attempts(read_attempts(tmp_path), "job", run.suffix) == 2


def test_sessions_of_one_minute_take_the_next_free_one_and_are_found_again(tmp_path: Path) -> None:
    first = begin(tmp_path)
    second = make_session(tmp_path, {"campaign": "sweep", "label": "more"}, tmp_path / "sweep.yaml", NOW)
    make_session(tmp_path, {"campaign": "another", "label": "main"}, tmp_path / "sweep.yaml", NOW)
    assert [first.name, second.name] == ["2026-11-20:22:19", "2026-11-20:22:20"]
    assert find_sessions(tmp_path, "sweep") == {"main": first, "more": second}
    assert json.loads((first / "session.json").read_text())["started_utc"] == "2026-11-20T22:19:30Z"


def test_a_kept_attempt_comes_into_place_whole(tmp_path: Path) -> None:
    session, run = begin(tmp_path), make_run()
    slot = make_files(tmp_path, run)
    (session / "job/ss:10.201.1.2:1").write_text("of a run that was never complete")
    (session / "job/ss:10.201.1.2:11").write_text("another run's")
    write_journal(slot, session, make_attempt(run, 1, "interrupted"), [])
    end_attempt(slot, "attempt-1", session, run, make_attempt(run), is_kept=True)
    assert is_complete(session, run)
    assert list_files(session) == sorted([*WHOLE, "ss:10.201.1.2:11"])
    assert (session / "job/ss:10.201.1.2:1").read_text() == "ss:10.201.1.2:1"
    assert read_attempts(session) == [make_attempt(run)]
    assert list(slot.iterdir()) == []


def test_a_failed_attempt_leaves_its_line_only(tmp_path: Path) -> None:
    session, run = begin(tmp_path), make_run()
    slot = make_files(tmp_path, run)
    write_journal(slot, session, make_attempt(run, 1, "interrupted"), [])
    end_attempt(slot, "attempt-1", session, run, make_attempt(run, 1, "failed"), is_kept=False)
    assert not is_complete(session, run)
    assert list_files(session) == []
    assert [one.outcome for one in read_attempts(session)] == ["failed"]


def test_an_attempt_killed_under_way_is_written_as_interrupted_once(tmp_path: Path) -> None:
    session, run = begin(tmp_path), make_run()
    slot = make_files(tmp_path, run)
    write_journal(slot, session, make_attempt(run, 1, "interrupted"), [])
    for _ in range(2):
        with lock_archive(tmp_path) as partial:
            assert [path.name for path in partial.iterdir()] == ["lock"]
    assert read_attempts(session) == [make_attempt(run, 1, "interrupted")]
    assert list_files(session) == []


@pytest.mark.parametrize("renamed_count", range(4))
@pytest.mark.parametrize("is_in_ledger", [False, True])
def test_a_kill_between_renames_is_made_good(tmp_path: Path, renamed_count: int, is_in_ledger: bool) -> None:
    session, run = begin(tmp_path), make_run()
    slot = make_files(tmp_path, run)
    # The order in which they are renamed: what makes the run complete is last.
    names = [WHOLE[0], WHOLE[2], WHOLE[1]]
    placing = [(f"attempt-1/{name}", f"{session.name}/job/{name}") for name in names]
    write_journal(slot, session, make_attempt(run), placing)
    for source, target in placing[:renamed_count]:
        (tmp_path / target).parent.mkdir(parents=True, exist_ok=True)
        (slot / source).rename(tmp_path / target)
    assert is_complete(session, run) == (renamed_count == 3)
    if is_in_ledger:
        append_attempt(session, make_attempt(run))
    with lock_archive(tmp_path):
        assert list_files(session) == WHOLE
    assert read_attempts(session) == [make_attempt(run)]


def test_a_second_command_is_kept_out(tmp_path: Path) -> None:
    with (
        lock_archive(tmp_path),
        pytest.raises(InputError, match="another `collect` is at work"),
        lock_archive(tmp_path),
    ):
        pytest.fail("two commands in one archive")
    with lock_archive(tmp_path):
        pass


def test_files_of_other_runs_stay(tmp_path: Path) -> None:
    for name in ("ss:h:1", "mpstat-sender:h:1.json", "src-cmd-2:h:1", "ss:h:11", "ss:h:1:20.0ms", "jobmeta.json"):
        (tmp_path / name).touch()
    remove_rest(tmp_path, "h:1")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["jobmeta.json", "ss:h:11", "ss:h:1:20.0ms"]


def test_a_declaration_that_changed_is_refused_and_one_that_grew_is_not(tmp_path: Path) -> None:
    session, run = begin(tmp_path), make_run()
    (session / "job/src-cmd:10.201.1.2:1").write_text("{}")
    append_attempt(session, make_attempt(run))
    grown = Collection(make_plan(run, make_run("10.201.1.2:2")), tmp_path, tmp_path, {"main": session})
    grown.check_fingerprints()
    assert [one.suffix for one in grown.list_missing()] == ["10.201.1.2:2"]
    changed = Collection(make_plan(make_run(mtu_bytes=9000)), tmp_path, tmp_path, {"main": session})
    with pytest.raises(InputError, match=r"main/job/10\.201\.1\.2:1"):
        changed.check_fingerprints()


def test_commands_of_clients() -> None:
    client = Client(2, "far", congestion_control="bbr", flows_count=4, duration_s=9.5, interval_s=0.5, omit_s=2)
    (command,) = list_client_commands(client, "10.201.1.2")
    assert " ".join(command) == "iperf3 -c 10.201.1.2 -p 5202 -J -i 0.5 -t 10 -P 4 -C bbr -O 2"
    assert name_output(client, "far:1") == "src-cmd-2:far:1"
    # iperf3 shares a volume out among its flows: 3 MB for each of 2.
    (command,) = list_client_commands(Client(1, "far", volume_bytes=3_000_000, flows_count=2), "10.201.1.2")
    assert command[command.index("-n") + 1] == "6000000"
    rpc = Client(1, "far", program="netperf", flows_count=2, duration_s=3.0, request_bytes=10, response_bytes=20)
    commands = list_client_commands(rpc, "10.201.1.2")
    assert len(commands) == 2
    assert "-r 10,20" in " ".join(commands[0])
    assert list_server_command(rpc) == ["netserver", "-D", "-4", "-p", "12865"]
    # 10 s after a start at 5 s, and the margin of a minute.
    assert limit_s(Client(1, "far", start_s=5.0, duration_s=10.0), make_run()) == 75.0


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"intervals": [{}], "end": {}}', None),
        ("", "is empty"),
        ("iperf3: error - unable", "is no JSON"),
        ('{"intervals": [], "error": "Connection refused"}', "iperf3: Connection refused"),
        ('{"intervals": []}', "has no intervals"),
    ],
)
def test_faults_of_a_result(tmp_path: Path, text: str, fault: str | None) -> None:
    output = tmp_path / "src-cmd:h:1"
    output.write_text(text)
    found = find_fault(Client(1, "h"), output)
    assert (found is None) if fault is None else (fault in str(found))


@pytest.mark.parametrize(
    ("program", "text"),
    [
        ("iperf3", "iperf3: unrecognized option '--bogus'"),
        ("iperf3", "iperf3: parameter error - bogus value for --omit"),
        # netperf goes on as if it had not been asked.
        ("netperf", "netperf: invalid option -- 'Q'\nTHROUGHPUT=64291.05"),
    ],
)
def test_arguments_of_the_campaign_that_a_client_refuses_are_told_by_their_key(
    tmp_path: Path, program: Literal["iperf3", "netperf"], text: str
) -> None:
    output = tmp_path / "src-cmd:h:1"
    output.write_text(f"{text}\n\nUsage: ...")
    client = Client(1, "h", program=program, extra_arguments=("--bogus",))
    with pytest.raises(WrongCallError, match=f"^{re.escape(f'extra_arguments: {text.splitlines()[0]}')}$"):
        find_fault(client, output)


@pytest.mark.parametrize(("busy_count", "is_bound"), [(0, False), (1, False), (2, True)])
def test_a_run_is_cpu_bound_above_a_tenth_of_its_samples(busy_count: int, is_bound: bool) -> None:
    # Of ten samples one is a tenth, not more; "all" of two cores is never above 95 % here.
    def sample(idle: float) -> dict[str, object]:
        return {"cpu-load": [{"cpu": "all", "idle": 50.0}, {"cpu": "0", "idle": idle}, {"cpu": "1", "idle": 60.0}]}

    samples = [sample(4.9 if number < busy_count else 5.0) for number in range(10)]
    assert judge_cpu(json.dumps({"sysstat": {"hosts": [{"statistics": samples}]}})) is is_bound


def test_the_progress_line() -> None:
    runs = [make_run("h:1"), make_run("h:2"), make_run("h:3")]
    progress = Progress(runs)
    assert describe_progress(progress, runs[0], "", 0.0) == "run 1 of 3 (0 %, 0:00:36 left)  main/job/h:1"
    progress.finish(runs[0])
    # 12 s were expected and 24 s taken, so the 24 s left will take 48 s.
    expected = "run 2 of 3 (33 %, 0:00:48 left)  main/job/h:2: attempt 2"
    assert describe_progress(progress, runs[1], "attempt 2", 24.0) == expected
    assert format_duration(4000) == "1:06:40"


def test_each_of_several_runs_at_a_time_has_a_number_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    runs = [make_run(f"h:{number}") for number in range(1, 6)]
    progress = Progress(runs)
    progress.tell_calibration("main")
    for under_way, begun in zip([None, *runs], [*runs, None], strict=True):
        if begun:
            progress.tell(begun)
        if under_way:
            # Tried again while another one is under way.
            progress.tell(under_way, "attempt 2")
            progress.finish(under_way)
    first, *lines = capsys.readouterr().err.splitlines()
    assert first == "session main: calibration"
    told = [(line.split(" (")[0], line.partition("main/job/")[2]) for line in lines]
    assert [line for line in told if "attempt" not in line[1]] == [
        (f"run {number} of 5", f"h:{number}") for number in range(1, 6)
    ]
    assert {line for line in told if "attempt" in line[1]} == {
        (f"run {number} of 5", f"h:{number}: attempt 2") for number in range(1, 6)
    }


@pytest.mark.parametrize(
    ("missing_count", "expected"),
    [(3, ""), (2, "1 of 3 runs is already there, 2 are left to make\n"), (1, "2 of 3 runs are already there, 1 is ")],
)
def test_a_resumed_sweep_says_once_what_is_there(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    missing_count: int,
    expected: str,
) -> None:
    runs = [make_run("h:1"), make_run("h:2"), make_run("h:3")]
    collection = Collection(make_plan(*runs), tmp_path, tmp_path / "sweep.yaml", {})
    monkeypatch.setattr(collection, "list_missing", lambda: runs[-missing_count:])
    monkeypatch.setattr(collection, "_prepare_session", lambda *_: None)
    monkeypatch.setattr(collection, "_deal", lambda own, _, progress: [progress.tell(run) for run in own])
    collection.carry_out(Place("user-mode-kernel", "virtual"), tmp_path / ".partial")
    said = capsys.readouterr().err
    assert said.startswith(expected or "run 1 of 3 (0 %")
    assert said.count("already there") == bool(expected)
    assert f"run 1 of {missing_count} (0 %" in said


def test_namespaces_refuse_parameters_of_the_whole_machine() -> None:
    plan = make_plan(make_run(module_parameters={"tcp_cubic.beta": "600"}), engine="namespaces")
    with pytest.raises(InputError, match=r"module_parameters are the whole machine's|apt-get install"):
        choose_place(plan)


def test_no_order_is_longer_than_a_line_of_a_console(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A terminal that reads whole lines (N_TTY) takes 4,095 bytes and drops the rest of a longer one.
    runs = [make_run(f"10.201.1.2:{number}") for number in range(2000)]
    slot = Slot(make_plan(*runs), Place("user-mode-kernel", "real"), 1, tmp_path, {})
    told, orders = os.pipe()
    answers, said = os.pipe()
    os.write(said, b'\nccreport:{"event": "calibrated", "measurements": []}\n')
    monkeypatch.setattr(slot, "_start", lambda _: Guest(None, orders, answers, -1))  # type: ignore[arg-type]
    assert slot.calibrate(runs[1:], 0) == {"measurements": [], "attempt": 1}
    order = os.read(told, 65536)
    for end in (told, orders, answers, said):
        os.close(end)
    assert len(order) <= 4095
    assert json.loads((tmp_path / json.loads(order)["numbers"]).read_text()) == list(range(1, 2000))


def test_a_session_tells_of_the_declaration_as_it_is_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = begin(tmp_path)
    probe = {"quantity": "rtt", "conditions": "RTT 20 ms; least of 40 echoes, median 20 ms", "is_within": True}
    write_json(session / "calibration.json", {"measurements": [probe], "capacity_bps": 900000000})
    declaration = tmp_path / "shorter.yaml"
    declaration.write_text("title: A shorter sweep\n")
    runs = [make_run("10.201.1.2:1"), make_run("10.201.1.2:2")]
    plan = make_plan(*runs)
    slot = Slot(plan, Place("user-mode-kernel", "real"), 1, tmp_path, {}, machine={"kernel": "6.1.176"})
    monkeypatch.setattr(slot, "make_ready", lambda *_: None)
    collection = Collection(plan, tmp_path, declaration, {"main": session})
    collection._prepare_session("main", runs[1:], slot, Progress(runs[1:]))
    told = json.loads((session / "session.json").read_text())
    assert (told["planned_runs_count"], told["expected_s"], told["label"]) == (2, 24.0, "main")
    assert (session / "campaign.yaml").read_text() == "title: A shorter sweep\n"


@pytest.mark.parametrize("clock", ["virtual", "real"])
def test_a_stop_while_the_testbed_comes_up_ends_the_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Literal["virtual", "real"]
) -> None:
    session, run = begin(tmp_path), make_run()
    ended: list[str] = []
    slot = Slot(make_plan(run), Place("user-mode-kernel", clock), 1, tmp_path / ".partial/slot-1", {})

    def order(*_: object, **told: Any) -> None:
        raise AssertionError(f"a testbed that is to end was told {told}")

    def start(*_: object) -> Guest:
        slot.close()
        slot.guest = Guest(None, -1, -1, -1)  # type: ignore[arg-type]
        return slot.guest

    monkeypatch.setattr(Guest, "tell", order)
    monkeypatch.setattr(Guest, "close", lambda _: ended.append("closed"))
    monkeypatch.setattr(VirtualGuest, "perform", order)
    monkeypatch.setattr(slot, "_write_spec", lambda _: slot.close())
    monkeypatch.setattr(slot, "_start", start)
    assert slot.attempt(run, 1, session, 0, keeps_cpu_bound=False)[0].outcome == "interrupted"
    assert [attempt.outcome for attempt in read_attempts(session)] == ["interrupted"]
    assert slot.guest is None
    assert bool(ended) is (clock == "real")


def test_after_a_failure_virtual_time_draws_another_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session, run = begin(tmp_path), make_run()
    slot = Slot(make_plan(run), Place("user-mode-kernel", "virtual"), 1, tmp_path / ".partial/slot-1", {})
    ends = iter([GuestEnded("killed"), GuestEnded("hung"), {"outcome": "failed", "message": "no data"}])

    def perform(*_: object, **_order: object) -> list[dict[str, Any]]:
        end = next(ends)
        if isinstance(end, GuestEnded):
            raise end
        return [end]

    monkeypatch.setattr(slot, "_write_spec", lambda _: None)
    monkeypatch.setattr(slot, "_perform", perform)
    for number, is_stopped in ((1, True), (2, False), (3, False)):
        slot.is_stopped = is_stopped
        slot.attempt(run, number, session, 0, keeps_cpu_bound=False)
    told = [(attempt.outcome, attempt.seed) for attempt in read_attempts(session)]
    # One that was interrupted is made again as it was.
    seed = "1/main/job/10.201.1.2:1"
    assert told == [("interrupted", seed), ("failed", seed), ("failed", f"{seed}/2")]


def test_a_setting_that_the_kernel_refuses_is_tried_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session, runs = begin(tmp_path), [make_run(f"10.201.1.2:{number}") for number in (1, 2, 3)]
    slot = Slot(make_plan(*runs), Place("user-mode-kernel", "virtual"), 1, tmp_path / ".partial/slot-1", {})
    refused = {"outcome": "failed", "message": "the kernel has no module parameter tcp_cubic.betta", "is_refused": True}
    monkeypatch.setattr(slot, "_write_spec", lambda _: None)
    monkeypatch.setattr(slot, "_perform", lambda *_, **_order: [refused])
    collection = Collection(slot.plan, tmp_path, tmp_path / "sweep.yaml", {"main": session})
    told = "main/job/10.201.1.2:1: the kernel has no module parameter tcp_cubic.betta; the sweep ends here"
    with pytest.raises(InputError, match=f"^{re.escape(told)}$"):
        collection._deal(runs, [slot], Progress(runs))
    assert [(attempt.run, attempt.outcome) for attempt in read_attempts(session)] == [("10.201.1.2:1", "failed")]


@pytest.mark.parametrize(("is_wrong_call", "tries_count"), [(True, 1), (False, 3)])
def test_a_call_that_a_program_refuses_is_tried_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_wrong_call: bool, tries_count: int
) -> None:
    session, runs = begin(tmp_path), [make_run(f"10.201.1.2:{number}") for number in (1, 2)]
    slot = Slot(make_plan(*runs), Place("user-mode-kernel", "virtual"), 1, tmp_path / ".partial/slot-1", {})
    message = "extra_arguments: iperf3: unrecognized option '--bogus'"
    told = {"outcome": "failed", "message": message, "is_wrong_call": is_wrong_call}
    monkeypatch.setattr(slot, "_write_spec", lambda _: None)
    monkeypatch.setattr(slot, "_perform", lambda *_, **_order: [told])
    collection = Collection(slot.plan, tmp_path, tmp_path / "sweep.yaml", {"main": session})
    collection._deal(runs, [slot], Progress(runs))
    assert [attempt.run for attempt in read_attempts(session)] == [
        run.suffix for run in runs for _ in range(tries_count)
    ]
    assert collection.failures == {run.key: message for run in runs}


def test_a_failed_calibration_is_made_again_with_another_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session, run = begin(tmp_path), make_run()
    slot = Slot(make_plan(run), Place("user-mode-kernel", "virtual"), 1, tmp_path, {}, machine={"kernel": "6.1.176"})
    clocks: list[VirtualClock] = []

    def perform(_: object, clock: VirtualClock, **_order: object) -> list[dict[str, Any]]:
        clocks.append(clock)
        probe = {"quantity": "loss", "measured": 1.0, "unit": "%", "nominal": 0.1, "low": 0.0, "high": 0.2}
        is_within = len(clocks) == 2
        return [{"event": "calibrated", "measurements": [probe | {"is_within": is_within, "conditions": ""}]}]

    monkeypatch.setattr(slot, "make_ready", lambda *_: None)
    monkeypatch.setattr(slot, "_write_spec", lambda _: None)
    monkeypatch.setattr(slot, "_perform", perform)
    collection = Collection(slot.plan, tmp_path, tmp_path / "sweep.yaml", {"main": session})
    with pytest.raises(
        InputError, match=r"calibration failed: loss 1 % where .*`testbed: {calibration: {on_failure: war"
    ):
        collection._prepare_session("main", [run], slot, Progress([run]))
    collection._prepare_session("main", [run], slot, Progress([run]))
    assert [clock.seed for clock in clocks] == ["1/main/calibration", "1/main/calibration/2"]


def test_each_iteration_is_shuffled_and_no_run_moves_another() -> None:
    runs = [replace(make_run(f"host:{n}:{rtt}ms"), iteration=n) for n in (1, 2, 3) for rtt in (5, 10, 20, 40, 80)]
    ordered = order_runs(runs, contract.Testbed())
    assert [run.iteration for run in ordered] == [1] * 5 + [2] * 5 + [3] * 5
    assert ordered != runs
    assert sorted(run.key for run in ordered) == sorted(run.key for run in runs)
    assert order_runs(runs, contract.Testbed()) == ordered
    assert order_runs(runs, contract.Testbed(seed=2)) != ordered
    assert order_runs(runs[3:], contract.Testbed()) == [run for run in ordered if run not in runs[:3]]
    assert order_runs(runs, contract.Testbed(order="declared")) == runs


def test_virtual_clocks_start_one_after_another() -> None:
    runs = [make_run("host:1"), make_run("host:2")]
    assert place_in_time(NOW) == 1_795_213_170 * 10**9
    # The session is calibrated for 600 s; a run that takes 12 s is followed by a pause of 10.
    assert place_in_time(NOW, runs, runs[0]) == (1_795_213_170 + 600) * 10**9
    assert place_in_time(NOW, runs, runs[1]) == (1_795_213_170 + 622) * 10**9


def test_drops_of_the_path_do_not_limit_a_run_and_others_do() -> None:
    before = {("far", "c1 netem 1: dropped"): 1, ("sender1", "s0 fq 10: dropped"): 0, ("kernel", "softnet dropped"): 2}
    lossy = compare_drops(before, before | {("far", "c1 netem 1: dropped"): 9})
    assert [(one["host"], one["is_path"]) for one in lossy] == [("far", True), ("kernel", False), ("sender1", False)]
    assert name_host_limit(lossy) is None
    full = compare_drops(before, before | {("kernel", "softnet dropped"): 7, ("sender1", "s0 fq 10: dropped"): 1})
    assert name_host_limit(full) == "softnet dropped of kernel rose by 5; s0 fq 10: dropped of sender1 rose by 1"
    bottleneck = compare_drops({}, {("router", "r0 tbf 1: dropped"): 3, ("receiver1", "d0 netem 1: dropped"): 1})
    assert name_host_limit(bottleneck) is None

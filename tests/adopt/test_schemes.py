"""`adopt` on folders whose names follow several schemes, or have bare numbers only."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from archives import write_archive
from own_files import MPSTAT, START_S, client_output, socket_samples
from test_adopt import list_columns, propose

from ccreport.adopt.adopt import adopt

FAILED = '{"start": {"connected": [], "version": "iperf 3.16"}, "intervals": [], "end": {}, "error": "no route"}'
CONDITIONS = [*itertools.product(("bbr", "cubic"), (10, 40), (1, 2))]
# Another scheme each, with the same algorithms, RTTs and repetitions.
LAB = "lab2024/measure-{0}-RTT{1}ms-try{2}.json"
CLUSTER = "cluster/{0} {1} ms ({2}).json"
STUDENTS = "students/rtt_{1}ms/algo={0}/rep0{2}/client.out"


def write_tests(number: int, scheme: str, *, has_samples: bool = False) -> Iterator[tuple[str, str]]:
    for position, (cc, rtt_ms, repetition) in enumerate(CONDITIONS):
        port, start_s = 4000 + 100 * number + position, START_S + 6000 * number + 60 * position
        path = scheme.format(cc, rtt_ms, repetition)
        yield path, client_output(port, cc, start_s)
        if has_samples:
            yield path.replace("client.out", "sockets.log"), socket_samples(port, cc, start_s)
            yield path.replace("client.out", "cpu.log"), MPSTAT


def write_schemes(folder: Path, *schemes: str) -> Path:
    own = [(path, text) for n, scheme in enumerate(schemes) for path, text in write_tests(n, scheme)]
    return write_archive(folder, dict([*own, *write_tests(9, STUDENTS, has_samples=True)]))


@pytest.mark.parametrize(
    ("schemes", "jobs"),
    [
        ((LAB,), {"lab2024", "students"}),
        ((LAB, CLUSTER), {"lab2024", "cluster", "students"}),
        # What is beside the others' folders has that folder.
        ((LAB.removeprefix("lab2024/"),), {None, "students"}),
        ((f"data/{LAB}", f"data/{CLUSTER}"), {"lab2024", "cluster", "students"}),
    ],
)
def test_schemes_with_the_same_conditions_are_jobs_of_their_own(
    schemes: tuple[str, ...], jobs: set[str | None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = propose(write_schemes(tmp_path / "raw", *schemes))
    said = capsys.readouterr().out
    files = [files for (files,) in list_columns(said, "files")]
    assert len(files) == 8 * (len(schemes) + 1)
    assert files.count("iperf3, mpstat, ss") == 8
    assert "Not used" not in said
    assert "none of its connections" not in said
    assert {one.get("job") for one in told} == jobs


def test_schemes_of_one_folder_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flat = [scheme.rpartition("/")[2] for scheme in (LAB, CLUSTER)]
    own = [(path, text) for n, scheme in enumerate(flat) for path, text in write_tests(n, scheme)]
    propose(
        write_archive(tmp_path / "raw", dict([*own, *write_tests(9, "{0}_{1}ms_rep{2}_client.out", has_samples=True)]))
    )
    said = capsys.readouterr().out
    files = [files for (files,) in list_columns(said, "files")]
    assert len(files) == 24
    assert files.count("iperf3, mpstat, ss") == 8
    assert "Not used" not in said


def test_only_patterns_of_delays_are_asked_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Doubled, the delays of one scheme equal the RTTs of the other; their runs must stay apart all the same."""
    delays = dict(write_tests(9, STUDENTS.replace("rtt_", "delay_"), has_samples=True))
    halved = {path.replace("_10ms", "_15ms").replace("_40ms", "_20ms"): text for path, text in delays.items()}
    rtts = {path.replace("RTT10ms", "RTT30ms"): text for path, text in write_tests(1, LAB)}
    folder = write_archive(tmp_path / "raw", rtts | halved)
    propose(folder)
    question = (
        "Are delays in names one-way? If so, write `scale: {rtt_ms: 2}` below each pattern of a delay (not of an RTT), "
        "such as that of students/delay_15ms/"
    )
    assert question in capsys.readouterr().out
    layout = (folder / "layout.yaml").read_text()
    assert f"# {question}" in layout
    parts = layout.split("  - pattern: '")
    scaled = [
        part.replace("    kind:", "    scale: {rtt_ms: 2}\n    kind:") if part[0] == "d" else part for part in parts
    ]
    (folder / "layout.yaml").write_text("  - pattern: '".join(scaled))
    assert adopt(folder, check=True) == 0
    assert len(list_columns(capsys.readouterr().out, "run")) == 16


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [
        ("{1}/{0}/{2}.json", {"iteration": 1, "number": "10"}),
        ("{2}/{0}/{1}.json", {"iteration": 1, "number": "10"}),
        ("{0}/{2}/rtt{1}.json", {"iteration": 1, "rtt_ms": 10.0}),
    ],
)
def test_of_bare_numbers_those_that_count_are_repetitions(
    scheme: str, expected: dict[str, object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_archive(tmp_path / "raw", dict(write_tests(1, scheme)))
    told = propose(folder)
    assert {"cc": "bbr", **expected} in [{name: one[name] for name in one if name != "job"} for one in told]
    said = capsys.readouterr().out
    advice = "What is `number` (10, 40)? If RTTs in ms, write `(?P<rtt_ms>` for `(?P<number>` in the layout; "
    assert (advice in said) == ("number" in expected)
    layout = folder / "layout.yaml"
    layout.write_text(layout.read_text().replace("(?P<number>", "(?P<rtt_ms>"))
    adopt(folder, check=True)
    said = capsys.readouterr().out
    assert {rtt for (rtt,) in list_columns(said, "RTT ms")} == {"10", "40"}
    assert "What is" not in said


@pytest.mark.parametrize(
    ("second_starts_s", "told", "untold"),
    [
        (START_S + 600, "`iteration` or `run` for repetitions\n", "flow"),
        (START_S, "`flow` for flows of one run (`set: {flow: first}`", "iteration"),
    ],
)
def test_of_two_tests_of_one_run_the_groups_that_tell_them_apart_are_named(
    second_starts_s: int, told: str, untold: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    patterns = [f"{{pattern: '(?P<cc>[a-z]+)\\.{ending}', set: {{job: all}}}}" for ending in ("json", "out", "ss")]
    files = {"layout.yaml": "".join(["files:\n", *(f"  - {pattern}\n" for pattern in patterns)])}
    for number, cc in enumerate(("bbr", "cubic")):
        files[f"{cc}.json"] = client_output(4000 + number, cc, START_S)
        files[f"{cc}.out"] = client_output(5000 + number, cc, second_starts_s)
        files[f"{cc}.ss"] = socket_samples(6000 + number, cc, START_S)
    folder = write_archive(tmp_path / "raw", files)
    layout = folder / "layout.yaml"
    assert adopt(folder, check=True) == 1
    said = capsys.readouterr().out
    line = next(line for line in said.splitlines() if "already is this run's" in line)
    advice = "bbr.out already is this run's src-cmd; give the layout a group that tells the two apart: `job` (`set: "
    assert f"  2 files, such as bbr.json: {advice}{{job: NAME}}` below layout.yaml:2 and " in line
    assert told in f"{line}\n"
    assert untold not in line
    strange = "its ss samples show none of its connections, but those of no test here; correct the layout."
    assert said.count(strange) == 1
    assert f"2 runs, such as cc=bbr: {strange}" in said
    # What is said helps.
    layout.write_text(layout.read_text().replace(".json', set: {job: all}", ".json', set: {job: NAME}"))
    adopt(folder, check=True)
    said = capsys.readouterr().out
    assert len(list_columns(said, "run")) == 4
    assert "already is" not in said


def test_one_file_without_a_result_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_archive(tmp_path, {"ss_cubic.txt": socket_samples(40000)})
    adopt(tmp_path, check=False)
    assert "cc=cubic" in capsys.readouterr().out


def test_a_single_day_of_several_tests_is_a_session(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("cubic v4", "cubic short", "cubic back", "reno v6", "udp")
    files = {
        f"2026-03-14 lab/lokal {name}.json": client_output(4000 + number, name.split()[0], START_S + 60 * number)
        for number, name in enumerate(names)
    }
    # It does not say its time, so that nothing shows that tests came one after another.
    files["2026-03-14 lab/lokal cubic failed.json"] = FAILED
    folder = write_archive(tmp_path / "raw", files)
    assert adopt(folder, check=False) == 1
    said = capsys.readouterr().out
    assert "(?P<session>" in (folder / "layout.yaml").read_text()
    assert len(list_columns(said, "run")) == len(files)
    assert "Not used" not in said

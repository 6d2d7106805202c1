"""After a build it is said what an evaluation names that the archive does not have, or has in another unit."""

from pathlib import Path

import pytest
from archives import at
from condition_runs import build_database, gather, make_run

from ccreport.compare.doubtful_values import list_doubtful_values
from ccreport.core.configuration import LISTS_RUNS
from ccreport.summarise.label_values import list_unmet
from ccreport.summarise.summarise import summarise_tables

TEXT = """\
title: a
algorithms: {CUBIC: {members: [cubic]}, Reno: {members: [reno]}}
labels:
  orbit:
    cases:
      - {value: far, when: rtt_ms >= 480}
      - {value: low, when: rtt_ms >= 20}
tables:
  published_values: {title: b}
  jobs: {title: c, where: loss_pct < 5}
published:
  text:
    title: alone
    unit: Mbit/s
    step: 1
    columns: {orbit: '{}', algorithm: '{}'}
    cells:
      - [low, CUBIC, 9]
      - [low, Reno, [2, null]]
    sql: SELECT *, goodput_bps / 1e6 AS x, 1 AS y FROM algorithm_runs
  drop:
    title: to
    unit: '%'
    step: 1
    is_quotient: true
    columns: {orbit: '{}'}
    cells:
      - [low, 33]
      - [far, 12]
    sql: |
      SELECT *, if(is_divisor, 1, 100) * goodput_bps AS x, 1 AS y
      FROM (SELECT *, cc = 'cubic' AS is_divisor FROM algorithm_runs)
"""
RUNS = gather(
    *(make_run(n, {"cubic": 9.0 + n / 10}, rtt_ms=40.0, start_utc=at(n)) for n in range(3)),
    *(make_run(n, {"reno": 3.0 + n / 10}, rtt_ms=40.0, start_utc=at(n)) for n in range(3, 6)),
    *(make_run(n, {cc: rate}, rtt_ms=600.0, start_utc=at(n)) for n, cc, rate in ((6, "cubic", 9.0), (7, "reno", 1.0))),
)


def list_told(folder: Path, text: str) -> list[str]:
    path = folder / "e.yaml"
    path.write_text(text, encoding="utf-8")
    database = build_database(folder, RUNS, path)
    summarise_tables(path, database, folder / "summaries")
    return [str(problem).removeprefix(f"{path}:") for problem in list_doubtful_values(folder, path)]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "CUBIC, 9]",
            "CUBIC, 0.009]",
            ["18: published.text.cells.0: 0.009 Mbit/s is published and `sql` gives 9.1, about 1,000 times as"],
        ),
        (
            "/ 1e6",
            "/ 1e9",
            ["18: published.text.cells.0: 9 Mbit/s is published and `sql` gives 0.0091, about 1/1,000 of i"],
        ),
        (
            "if(is_divisor, 1, 100)",
            "100",
            ["28: published.drop.cells.0: 33 % is published and `sql` gives 0.374, about 1/100 of it; scale x of the"],
        ),
        (
            ">= 480",
            ">= 0.48",
            [
                "7: labels.orbit.cases.1: no run has orbit = 'low'; earlier cases have all 8 runs of its condition",
                "18: published.text.cells.0: `sql` gives no value of orbit = 'low', algorithm = 'CUBIC', nor of 1 othe",
                "28: published.drop.cells.0: `sql` gives no value of orbit = 'low'",
            ],
        ),
        (
            ">= 480",
            ">= 4800",
            [
                "6: labels.orbit.cases.0: no run has orbit = 'far'",
                "29: published.drop.cells.1: `sql` gives no value of orbit = 'far'",
            ],
        ),
        ("< 5", "= 5", ["10: tables.jobs.where: no run meets it, so that the table is empty"]),
    ],
)
def test_a_doubtful_value_is_told_with_its_line(old: str, new: str, told: list[str], tmp_path: Path) -> None:
    assert TEXT.count(old) == 1
    found = list_told(tmp_path, TEXT.replace(old, new))
    assert [problem[: len(said)] for problem, said in zip(found, told, strict=True)] == told


def test_an_algorithm_whose_usual_name_is_of_another_is_told(tmp_path: Path) -> None:
    said, *_ = list_told(tmp_path, TEXT.replace("members: [reno]", "members: [hybla]"))
    assert said == (
        "2: algorithms.Reno: `Reno` is hybla, so that the archive's reno goes by the kernel's name; "
        "`algorithm_names: {reno: Reno (reno)}` gives it another"
    )


FIGURES = """\
figures:
  f: {kind: flow_spread, title: d, overlapped: false, where: mode = 'reno', run: r04}
  g: {kind: flow_spread, title: e, overlapped: false, where: mode = 'cubic', run: r003}
  h:
    kind: throughput_over_time
    title: g
    overlapped: false
    where: mode = 'cubic'
    panels:
      - {title: h, where: rtt_ms < 50, run: r001}
      - {title: i, where: rtt_ms > 50, run: r002}
"""


def test_a_figure_s_run_that_is_not_there_is_told_with_its_line(tmp_path: Path) -> None:
    assert list_told(tmp_path, TEXT + FIGURES) == [
        f"34: figures.f.run: no run has `r04` in its name; {LISTS_RUNS} lists them",
        "35: figures.g.run: no run that meets `where` has `r003` in its name",
        "43: figures.h.panels.1.run: no run that meets `where` has `r002` in its name",
    ]


def test_what_an_archive_has_is_not_doubted(tmp_path: Path) -> None:
    assert list_told(tmp_path, TEXT) == []


def test_a_text_in_the_condition_of_a_table_with_runs_ends_no_warning(tmp_path: Path) -> None:
    # Times with a zone are not fetched where the package pytz is not installed.
    path = tmp_path / "e.yaml"
    path.write_text(TEXT.replace("loss_pct < 5", "host <> 'nowhere' AND mode <> 'bth'"), encoding="utf-8")
    (problem,) = map(str, list_unmet(build_database(tmp_path, RUNS, path), path))
    assert "tables.jobs.where: no run has mode = 'bth'; " in problem

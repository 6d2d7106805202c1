"""A value that no run can have is refused where an evaluation's SQL names it."""

import re
from pathlib import Path

import duckdb
import pytest
from archives import ROOT
from condition_runs import build_database, gather, make_run

from ccreport.core.declared_files import DeclarationError
from ccreport.summarise.label_values import check_label_values, list_unmet

TEXT = """\
title: a
algorithms: {CUBIC: {members: [cubic]}}
labels:
  distance:
    cases:
      - {value: far, when: rtt_ms > 30}
    otherwise: CASE WHEN rtt_ms IS NULL THEN 'unknown' ELSE 'near' END
  site:
    cases:
      - {value: home, when: distance = 'near'}
    otherwise: host
tables:
  jobs:
    title: a
    where: >-
      mode = 'both'
      AND distance IN ('near', 'far')
figures:
  one:
    kind: throughput_over_time
    title: a
    where: site <> 'elsewhere' AND rtt_source = 'ping'
    panels:
      - {title: a, where: rtt_bucket = 'RTT ≥ 30 ms'}
claims:
  one:
    text: a
    source: b
    checks:
      - name: a
        at_least: 1
        sql: >-
          SELECT count(*) AS value, count(*) AS n
          FROM labelled_runs AS r WHERE 'far' = r.distance AND sharing = 'alone'
"""


def check(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    with duckdb.connect() as connection:
        check_label_values(connection, path)


@pytest.mark.parametrize("path", sorted(ROOT.glob("evaluations/*.yaml")), ids=lambda path: path.stem)
def test_no_shipped_evaluation_names_an_impossible_value(path: Path) -> None:
    with duckdb.connect() as connection:
        check_label_values(connection, path)


def test_values_that_cases_give_and_any_value_of_an_open_label_pass(tmp_path: Path) -> None:
    check(tmp_path / "e.yaml", TEXT)
    # Others give their own algorithms any name, of which an archive may have runs.
    check(tmp_path / "e.yaml", TEXT.replace("mode = 'both'", "mode IN ('cubik', 'bbr9') AND cc_list = 'cubik'"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("distance = 'near'", "distance = 'naer'", ":10: labels.site.cases.0.when: no run has distance = 'naer'; did"),
        ("'far')", "'farr')", ":17: tables.jobs.where: no run has distance = 'farr'; did you mean `far`?"),
        ("'ping'", "'pin'", ":22: figures.one.where: no run has rtt_source = 'pin'; did you mean `ping`?"),
        ("'RTT ≥ 30", "'RTT >= 30", ":24: figures.one.panels.0.where: no run has rtt_bucket = 'RTT >= 30 ms'; did"),
        ("'far' = r", "'remote' = r", ":34: claims.one, check `a`: no run has distance = 'remote'; there are far, "),
        ("'alone'", "'single'", "no run has sharing = 'single'; there are alone, both"),
        ("'both'", "'boht'", ":16: tables.jobs.where: no run has mode = 'boht'; did you mean `both`?"),
        ("'both'", "'Both'", ":16: tables.jobs.where: no run has mode = 'Both'; did you mean `both`?"),
        ("'both'", "'alone'", ":16: tables.jobs.where: no run has mode = 'alone'; did you mean `sharing = 'alone'`?"),
        ("'both'", "'CUBIC'", ":16: tables.jobs.where: no run has mode = 'CUBIC'; did you mean `cubic`?"),
        (
            "source: b",
            "source: b\n    explorer: {mode: bth}",
            ":29: claims.one.explorer.mode: no run has mode = 'bth'; did",
        ),
    ],
)
def test_an_impossible_value_is_refused_with_its_line(old: str, new: str, said: str, tmp_path: Path) -> None:
    assert TEXT.count(old) == 1
    with pytest.raises(DeclarationError, match=re.escape(f"{tmp_path / 'e.yaml'}{said}" if said[0] == ":" else said)):
        check(tmp_path / "e.yaml", TEXT.replace(old, new))


@pytest.mark.parametrize(
    ("condition", "meant"),
    [
        ("algorithm = 'Cubic'", "CUBIC"),
        ("algorithm IN ('CUBIC', 'cubic')", "CUBIC"),
        ("cc = 'CUBIC'", "cubic"),
        ("cc_list = 'BBRv2,cubic'", "bbr2"),
        ("algorithm = 'Vegas'", "vegas"),
        # A second member has its own name where the first is there, too; others may be in any archive.
        ("algorithm IN ('BBR', 'bbr3', 'reno', 'quicly') AND cc IN ('bbr2', 'cubic', 'quicly')", None),
        ("algorithm = 'BBR3'", "bbr3"),
    ],
)
def test_an_algorithm_in_other_letters_is_refused_with_its_name(
    condition: str, meant: str | None, tmp_path: Path
) -> None:
    groups = "{BBR: {members: [bbr2, bbr3]}, CUBIC: {members: [cubic]}}"
    text = TEXT.replace("{CUBIC: {members: [cubic]}}", groups).replace("AS n\n", f"FILTER ({condition}) AS n\n")
    if meant is None:
        check(tmp_path / "e.yaml", text)
        return
    with pytest.raises(DeclarationError, match=rf":33: claims.one, check `a`: no run .*did you mean `{meant}`\?"):
        check(tmp_path / "e.yaml", text)


PRINTED = """\
  published_values: {title: b}
published:
  text:
    title: a
    unit: s
    step: 1
    columns: {distance: '{}', algorithm: '{}', loss_pct: '{} %'}
    cells:
      - [far, CUBIC, 1, 870]
    sql: SELECT *, goodput_bps AS x, 1 AS y FROM algorithm_runs WHERE rtt_ms > 3
figures:
"""


@pytest.mark.parametrize(
    ("line", "old", "new", "said"),
    [
        (26, "[far, CUBIC", "[farr, CUBIC", "cells.0: no run has distance = 'farr'; did you mean `far`?"),
        (26, "[far, CUBIC", "[far, cubic", "cells.0: no run has algorithm = 'cubic'; did you mean `CUBIC`?"),
        (26, "[far, CUBIC", "[far, CUBICS", "cells.0: no run has algorithm = 'CUBICS'; did you mean `CUBIC`?"),
        (27, "rtt_ms > 3\n", "rtt_ms > 'much'\n", "sql: `rtt_ms` holds numbers, and 'much' is not a number"),
        (27, "rtt_ms > 3\n", "rtt_ms IN ('3 ms', '4')\n", "sql: `rtt_ms` holds numbers, and '3 ms' is not a number"),
    ],
)
def test_a_published_cell_is_of_values_that_runs_can_have(
    line: int, old: str, new: str, said: str, tmp_path: Path
) -> None:
    text = TEXT.replace("figures:\n", PRINTED)
    check(tmp_path / "e.yaml", text.replace("rtt_ms > 3\n", "rtt_ms > '3.5'\n"))
    for other in ("vegas", "quicly", "CUBIC2"):
        check(tmp_path / "e.yaml", text.replace("[far, CUBIC", f"[far, {other}"))
    with pytest.raises(DeclarationError, match=re.escape(f":{line}: published.text.{said}")):
        check(tmp_path / "e.yaml", text.replace(old, new))


def test_a_published_algorithm_that_may_be_misspelt_is_told(tmp_path: Path) -> None:
    runs = gather(make_run(1, {"cubic": 9.0}))
    path = tmp_path / "e.yaml"
    for algorithm, said in (("CUBC", "; did you mean `CUBIC`?"), ("vegas", "")):
        path.write_text(
            TEXT.replace("figures:\n", PRINTED).replace("[far, CUBIC", f"[far, {algorithm}"), encoding="utf-8"
        )
        told = [str(problem) for problem in list_unmet(build_database(tmp_path, runs, path), path)]
        assert told == ([f"{path}:26: published.text.cells.0: no run has algorithm = 'CUBC'{said}"] if said else [])


@pytest.mark.slow
def test_a_text_that_no_run_has_is_told_with_what_there_is(tmp_path: Path) -> None:
    runs = gather(make_run(1, {"bbr": 9.0, "cubic": 1.0}), make_run(2, {"reno": 2.0}))
    path = tmp_path / "e.yaml"
    for text, said in [
        (
            TEXT.replace("mode = 'both'", "mode IN ('cubic', 'boht')"),
            ":16: tables.jobs.where: no run has mode = 'boht'; ",
        ),
        (
            TEXT.replace("site <> 'elsewhere'", "mode = 'single'"),
            ":22: figures.one.where: no run has mode = 'single'; there ",
        ),
        (
            TEXT.replace("site <> 'elsewhere'", "mode = 'CUBIC'"),
            ":22: figures.one.where: no run has mode = 'CUBIC'; there are both, reno",
        ),
        (
            TEXT.replace("site <> 'elsewhere'", "mode = 'alone'"),
            ":22: figures.one.where: no run has mode = 'alone'; there ",
        ),
        (
            TEXT.replace("sharing = 'alone'", "mode <> 'boht'"),
            ":34: claims.one, check `a`: no run has mode = 'boht'; ",
        ),
        (
            TEXT.replace("mode = 'both'", "host = 'nowhere'"),
            ":16: tables.jobs.where: no run has host = 'nowhere'; there are 10.0.0.2",
        ),
        (
            TEXT.replace("WHERE 'far'", "WHERE host = '10.0.0.22' AND 'far'"),
            ":34: claims.one, check `a`: no run has host",
        ),
        (
            TEXT.replace("distance = 'near'}", "sender_host = 'sendr'}"),
            ":10: labels.site.cases.0.when: no run has sender_h",
        ),
    ]:
        path.write_text(text, encoding="utf-8")
        (problem,) = map(str, list_unmet(build_database(tmp_path, runs, path), path))
        assert problem.startswith(f"{path}{said}")
    # By these a claim's link finds its runs.
    for filters, said in [
        ("{cc: bbr9, flows: 2}", "cc: no run has cc = 'bbr9'; did you mean `bbr`?"),
        ("{cc: reno, mode: boht}", "mode: no run has mode = 'boht'; did you mean `both`?"),
        ("{cc: CUBIC}", "cc: no run has cc = 'CUBIC'; did you mean `cubic`?"),
    ]:
        path.write_text(TEXT.replace("    source: b\n", f"    source: b\n    explorer: {filters}\n"), encoding="utf-8")
        (problem,) = map(str, list_unmet(build_database(tmp_path, runs, path), path))
        assert problem == f"{path}:29: claims.one.explorer.{said}"
    # Another part of it is met.
    path.write_text(TEXT.replace("mode = 'both'", "host <> 'nowhere'"), encoding="utf-8")
    assert list(list_unmet(build_database(tmp_path, runs, path), path)) == []
    path.write_text(TEXT, encoding="utf-8")
    assert list(list_unmet(build_database(tmp_path, runs, path), path)) == []


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        # A declared group of which no run is.
        ("algorithm = 'Reno'", "no run has algorithm = 'Reno'; there are BBRv2, CUBIC"),
        ("cc = 'reno' OR algorithm = 'vegas'", "no run has cc = 'reno'; there are bbr2, cubic"),
        ("algorithm = 'CUBIC' AND host = 'nowhere'", "no run has host = 'nowhere'; there are 10.0.0.2"),
        # Some run meets it, or none because of a number.
        ("algorithm IN ('CUBIC', 'Reno')", ""),
        ("algorithm = 'CUBIC' AND rtt_ms > 1e6", ""),
        # A label that the database does not have yet.
        ("zone = 'a'", ""),
    ],
)
def test_a_condition_that_was_changed_since_a_build_is_asked_as_it_is_now(
    condition: str, said: str, tmp_path: Path
) -> None:
    groups = "{BBRv2: {members: [bbr2]}, CUBIC: {members: [cubic]}, Reno: {members: [reno]}}"
    text = TEXT.replace("{CUBIC: {members: [cubic]}}", groups)
    path = tmp_path / "e.yaml"
    path.write_text(text, encoding="utf-8")
    database = build_database(tmp_path, gather(make_run(1, {"bbr2": 9.0, "cubic": 1.0})), path)
    text = text.replace("labels:\n", "labels:\n  zone: {otherwise: host}\n")
    path.write_text(text.replace("mode = 'both'\n      AND distance IN ('near', 'far')", condition), encoding="utf-8")
    told = [str(problem).partition(": tables.jobs.where: ")[2] for problem in list_unmet(database, path)]
    assert told[:1] == ([said] if said else [])


def test_what_is_nearly_an_algorithm_is_told_before_there_is_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "e.yaml"
    for condition, hint in (
        ("mode = 'bth'", "; did you mean `both`?"),
        ("cc = 'cubick'", "; did you mean `cubic`?"),
        ("mode IN ('vegas', 'quicly') AND cc IN ('vegas', 'quicly') AND host = 'nowhere'", None),
    ):
        path.write_text(TEXT.replace("mode = 'both'", condition), encoding="utf-8")
        told = [str(problem) for problem in list_unmet(build_database(tmp_path, gather(), path), path)]
        assert told == ([f"{path}:16: tables.jobs.where: no run has {condition}{hint}"] if hint else [])


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("cc = 'BBRv2'", "no run has cc = 'BBRv2'; did you mean `bbr2`?"),
        ("cc = 'CUBIC'", "no run has cc = 'CUBIC'; did you mean `cubic`?"),
        ("cc_list = 'bbr2,CUBIC'", "no run has cc_list = 'bbr2,CUBIC'; did you mean `cubic`?"),
        ("algorithm IN ('bbr2', 'BBRv2')", "no run has algorithm = 'bbr2'; did you mean `BBRv2`?"),
        ("cc = 'quicly'", "no run has cc = 'quicly'; there are bbr2, cubic, reno"),
        # Reno is declared and vegas is one of Linux, though this archive has neither; the rest is there.
        (
            "cc IN ('reno', 'vegas') AND cc_list = 'bbr2,cubic' AND algorithm NOT IN ('BBRv2', 'Reno', 'unknown')",
            "",
        ),
    ],
)
def test_algorithms_go_by_the_kernels_names_or_by_the_tables(condition: str, said: str, tmp_path: Path) -> None:
    runs = gather(make_run(1, {"bbr2": 9.0, "cubic": 1.0}))
    groups = "{BBRv2: {members: [bbr2]}, CUBIC: {members: [cubic]}, Reno: {members: [reno]}}"
    text = TEXT.replace("{CUBIC: {members: [cubic]}}", groups).replace("AS n\n", f"FILTER ({condition}) AS n\n")
    path = tmp_path / "e.yaml"
    path.write_text(text.replace("FROM labelled_runs AS r", "FROM algorithm_runs AS r"), encoding="utf-8")
    told = [str(problem) for problem in list_unmet(build_database(tmp_path, runs, path), path)]
    assert [problem.partition(": claims.one, check `a`: ")[2] for problem in told] == ([said] if said else [])

"""`explain`: what is behind a number, runs, files, query and comparison, and which results it is looked for in."""

import contextlib
import os
import re
import shutil
from pathlib import Path

import duckdb
import polars as pl
import pytest
from condition_runs import build_database
from explained_runs import FACTS, raw_file
from test_summarise import EVALUATION, gather, run

from ccreport.__main__ import main
from ccreport.core.declarations import load_yaml, read_query
from ccreport.core.errors import InputError
from ccreport.measure.suspects.measure import RULES
from ccreport.summarise.database import connect
from ccreport.summarise.grids.headings import name_quantities
from ccreport.summarise.statistics.comparisons import add_verdicts
from ccreport.summarise.suspect_runs import include_suspects
from ccreport.trace.comparison import describe_comparison
from ccreport.trace.explain import explain
from ccreport.trace.find_table import (
    describe_others,
    find_database,
    find_databases,
    find_elsewhere,
    list_tables,
    resolve_built,
)
from ccreport.trace.origins.own_values import OWN
from ccreport.trace.origins.sources import describe_numbers, describe_sources
from ccreport.trace.raw_files import load_files_by_algorithm
from ccreport.trace.rows.load_trace import PARTS, load_trace, recompute_row
from ccreport.trace.rows.select_rows import find_row, name_row
from ccreport.workflow_fixes.build_lock import describe_build, lock_results
from ccreport.workflow_fixes.orphans import BUILD_PID_VARIABLE


def test_a_row_of_every_table_is_the_same_from_its_runs_alone(database: Path) -> None:
    compared = {}
    with connect(database) as connection:
        for table in load_yaml(EVALUATION)["tables"]:
            trace = load_trace(connection, table)
            rows = connection.sql(f'FROM "{table}"').pl()
            for row in rows.iter_rows(named=True):
                assert recompute_row(connection, trace, row) == row
                runs = trace.select_runs(row)
                # That of a comparison is of the smaller of two samples.
                runs_count = row.get("runs_count", runs.height)
                assert runs.height >= runs_count > 0
                assert runs.height == runs_count or table == "comparisons"
            compared[table] = rows.height
            # The views are the database's own again.
            assert connection.sql(f'FROM "{table}"').pl().equals(rows)
    assert {table for table, rows in compared.items() if rows == 0} == {"witnesses"}


def test_the_runs_of_a_cell_are_those_of_its_conditions(database: Path) -> None:
    with connect(database) as connection:
        trace = load_trace(connection, "table_2_testbed")
        rows = connection.sql("FROM table_2_testbed").pl()
        row = rows.row(find_row(rows, "table_2_testbed", "algorithm=BBR,test_group=no loss") - 1, named=True)
        runs = trace.select_runs(row)
    # The uncounted r9 and r8, whose buffer is set, belong to no cell of Table II.
    assert runs.select("run_id", "rtt_ms", "rate_bps").rows() == [
        ("r1", 10.0, 9e6),
        ("r2", 10.0, 11e6),
        ("r3", 20.0, 18e6),
        ("r4", 20.0, 22e6),
    ]
    # (9 + 11 + 18 + 22) / 4
    assert row["rate_mean_bps"] == sum(runs["rate_bps"]) / 4 == 15e6
    # Files that no step read are not what a number rests on; those of the whole job stand last, once.
    assert trace.files.find(runs) == [
        ("run r1", [("1/src", "1" * 64)]),
        ("run r2", [("2/src", "2" * 64)]),
        ("all runs of e", [("meta.json", "m" * 64)]),
    ]


def test_what_a_number_compares_is_behind_it_too(database: Path) -> None:
    with connect(database) as connection:
        trace = load_trace(connection, "stability")
        row = connection.sql("FROM stability WHERE algorithm = 'CUBIC' AND rtt_bucket = 'RTT < 30 ms'").pl()
        cubic = row.row(0, named=True)
        runs = trace.select_runs(cubic)
        computed = recompute_row(connection, trace, cubic)
    assert set(runs["algorithm"]) == {"BBR", "CUBIC"}
    # CUBIC {10, 30}: sqrt(200) / 20 = 0.70711. BBR {9, 11, 18, 22}: sqrt(110 / 3) / 15 = 0.40369.
    assert computed["cv_ratio"] == pytest.approx(0.70711 / 0.40369, rel=1e-4)


def test_explain_prints_runs_files_and_the_number(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--row", "test_group=no loss, sharing=alone,flows_count=16", "--column", "algorithm=BBR"]
    assert main(["explain", "table_2", *given, "--database", str(database)]) == 0
    printed = capsys.readouterr().out
    key = "test_group=no loss,sharing=alone,flows_count=16,rtt_bucket=RTT < 30 ms,algorithm=BBR"
    assert printed.startswith(f"{database.parent.name}, table_2_testbed, row 1: {key}\n")
    # Of the logarithms of 9 and 11, and of 18 and 22: each cell's mean, in the unit and with the digits of the pages.
    assert re.search(r"^  Rate mean \(Mbit/s\)  15\.00 \(", printed, re.MULTILINE)
    assert "Runs (4):\n  In all: Session s; Job j; Host 10.0.0.2; Loss (%) 0\n" in printed
    assert "\n  Iteration  RTT (ms)  Rate (Mbit/s)  Run\n" in printed
    assert "\n  2          10        11.00          r2\n" in printed
    assert f"  # all runs of e\n  {'m' * 64}  meta.json\n" in printed
    # What the rate is read from, by its basis, and the query as it is.
    assert "\n  goodput_bps: Receiver's bytes times 8 " in printed
    assert "Source: iperf3 `end.streams[].receiver`, `bytes` over `end` - `start`" in printed
    assert "\nSQL: src/ccreport/sql/testbed/table_2_testbed.sql\n  -- Table II: " in printed
    query, _, macros = printed.partition("\nMacros: ")
    assert query.endswith("\n      rtt_bucket_rank, algorithm_rank, algorithm")
    assert re.fullmatch(r"cell_count, cell_mean, cell_cv, .*, cell_cv_interval \(src/\S+/macros\.sql\)\n", macros)
    # The query's own names of numbers are explained, and how to list the runs of the row.
    assert "\n  rate_within_cv: Mean of the CVs of the conditions " in printed
    listing = re.search(r"^  The row's: (.*)$", printed, re.MULTILINE)
    assert listing is not None
    with connect(database) as connection:
        listed = connection.sql(f"SELECT run_id FROM ({listing[1]}) ORDER BY ALL").fetchall()
    assert [run for (run,) in listed] == sorted(re.findall(r"^  \d .*  (r\d)$", printed, re.MULTILINE))


def test_values_of_runs_are_described_as_what_they_are() -> None:
    # Published tables have numbers of several runs under names that one run has, too.
    assert describe_sources("modes", ["rate_min_bps", "value"], {}) == []
    assert describe_sources("servers", ["rate_min_bps"], {})[2:] == [
        "  rate_min_bps: Rate of the client's slowest single flow of the run. Source: flows."
    ]
    of_run, of_test = (describe_sources(table, ["retransmits_count"], {})[2] for table in ("jobs", "rpc_load"))
    assert "Source: retransmits_ss_count, else retransmits_iperf3_count." in of_run
    assert "Source: rpc_tests `retransmits_local_count`, `retransmits_remote_count`." in of_test
    # A rate is that of its basis, but where a query computes its own.
    (rate,) = describe_sources("jobs", ["rate_bps"], {"rate_basis": "goodput"})[2:]
    assert rate.startswith("  goodput_bps: ")
    (own,) = describe_sources("staggered_flows", ["rate_bps"], {"rate_basis": "goodput"})[2:]
    assert own.startswith("  rate_bps: Rate of the flow over its own life")


def test_only_numbers_that_are_shown_are_defined() -> None:
    row = {"rate_mean_bps": 9e6, "rate_cv": 0.2, "rate_low_cv": 0.1, "rate_high_cv": 0.4, "rate_within_cv": 0.2}
    names = [line.split(":")[0].strip() for line in describe_numbers("table_2_testbed", row)[2:]]
    assert names == ["rate_mean_bps", "rate_cv"]
    assert len(describe_numbers("table_2_testbed", row | {"rate_within_cv": 0.1})[2:]) == 3


def test_no_value_that_a_query_computes_has_the_meaning_of_a_column(tmp_path: Path) -> None:
    brakmo = EVALUATION.with_name("brakmo-bbr.yaml")
    with connect(build_database(tmp_path, gather(run(1, {"bbr": 9.0}, **FACTS)), brakmo)) as connection:
        values = {table: {*load_trace(connection, table).values} for table in PARTS}
    for table, names in values.items():
        # Of one client or flow of a run; what is behind that pools the runs.
        query = re.split(r"\n(?:rpc_)?cells AS", read_query(table))[0]
        taken = {name for value, name in re.findall(r"(\S+) AS (\w+)", query) if value.rpartition(".")[2] == name}
        computed = names & {*re.findall(r" AS (\w+)", query)} - taken
        assert computed <= OWN[table].keys() <= names


def test_a_long_query_is_printed_when_all_is_asked_for(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = ["explain", "retransmits", "--row", "algorithm=BBR,test_group=no loss,sharing=alone"]
    own += ["--database", str(database)]
    assert main(own) == 0
    assert re.search(
        r"\nSQL: \S+/retransmits\.sql \(\d+ lines, which --full prints\)\nMacros: ", capsys.readouterr().out
    )
    assert main([*own, "--full"]) == 0
    assert "/retransmits.sql\n  -- " in capsys.readouterr().out


def test_a_result_file_is_named_with_the_algorithm_of_its_flows(tmp_path: Path) -> None:
    tables = gather(run(1, {"bbr": 9.0, "cubic": 9.0}, **FACTS))
    flow = {"run_id": "r1", "is_reverse": False}
    flows = [flow | {"flow_id": f"{cc}1", "cc": cc, "samples_count": 1} for cc in ("bbr", "cubic")]
    streams = [
        flow | {"client_number": client, "stream_number": 1, "flow_id": flow_id, "raw_file_id": path}
        for client, flow_id, path in ((1, "bbr1", "src-cmd"), (2, "cubic1", "src-cmd-2"))
    ]
    files = [raw_file(path, "r1") for path in ("src-cmd", "src-cmd-2", "ss")]
    database = build_database(tmp_path, tables | {"flows": flows, "streams": streams, "raw_files": files})
    with connect(database) as connection:
        assert load_files_by_algorithm(connection).algorithms == {"src-cmd": "BBR", "src-cmd-2": "CUBIC"}


def test_what_other_evaluations_have_too_is_said(tmp_path: Path) -> None:
    for name in "abcd":
        (tmp_path / name).mkdir()
        (tmp_path / name / "archive.duckdb").touch()
    own = tmp_path / "a/archive.duckdb"
    assert describe_others(tmp_path, own, "jobs", lambda _: False) == ""
    assert describe_others(tmp_path, own, "claim 1", lambda other: other.parent.name != "c") == (
        f"Other evaluations have `claim 1`, too; ask by --database {tmp_path}/b or {tmp_path}/d\n"
    )


@pytest.mark.slow
def test_no_table_is_explained_by_what_only_programs_read(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with connect(database) as connection:
        rows = {table: connection.sql(f'FROM "{table}"').pl() for table in load_yaml(EVALUATION)["tables"]}
    for table, summary in rows.items():
        for row in summary.head(2).iter_rows(named=True):
            explain(table, row=name_row(table, row), database=database)
            told = re.split("\nWhich runs these are:|\nRaw files", capsys.readouterr().out)[0]
            assert not re.search(r"[\[{]|_count|_ratio|_bps  |\d\.\d{5}", told.partition("\n")[2])


def test_a_comparison_is_told_in_sentences(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with connect(database) as connection:
        asked = connection.sql("FROM comparisons WHERE question LIKE '0.1 % loss%'").pl()
    explain("comparisons", row=name_row("comparisons", asked.row(0, named=True)), database=database)
    told = capsys.readouterr().out
    for line in (
        "Goodput of BBR and CUBIC, both in each run: undecided",
        "  BBR: mean 35 Mbit/s, of 1 run",
        "  CUBIC: mean 5 Mbit/s, of 1 run",
        "  Ratio of the geometric means, BBR / CUBIC: 7.000, no interval",
        "  Why: no test: each algorithm needs three runs, or two in each of two strata, with values",
        "Runs (1):",
    ):
        assert f"\n{line}\n" in told
    # What counts as equal is a bound of the question, not a number of its runs.
    assert "Equal within" not in told.partition("\nRuns (1):")[2]
    # The rows of one run are told apart by their algorithms.
    listed = told.partition("Runs (1):\n")[2].partition("\n\n")[0].splitlines()
    place = listed[1].index("Algorithm")
    assert [line[place:].split()[0] for line in listed[1:]] == ["Algorithm", "BBR", "CUBIC"]


def compare(first: list[float], second: list[float], *, measure: str = "goodput_bps", known: bool = True) -> list[str]:
    """Return the sentences on a question of one stratum, whose runs are not paired."""
    stratum = {"is_paired": False, "first": first, "second": second}
    stratum |= {"first_known": [True] * len(first), "second_known": [known] * len(second)}
    question = {
        "table_name": "t",
        "measure": measure,
        "question": "q",
        "first_algorithm": "BBR",
        "second_algorithm": "CUBIC",
        "is_paired": False,
        "strata_count": 1,
        "first_runs_count": len(first),
        "second_runs_count": len(second),
        "first_mean": sum(first) / len(first) if known else None,
        "second_mean": sum(second) / len(second),
        "equal_within_pct": 5.0,
        "added_ratio": 0.0,
        "strata": [stratum],
    }
    judged = name_quantities(add_verdicts(pl.DataFrame([question], infer_schema_length=None)))
    return describe_comparison(judged.row(0, named=True))


def test_a_verdict_says_why() -> None:
    ahead = compare([2.0e6, 2.02e6, 1.98e6], [1.0e6, 1.01e6, 0.99e6])
    assert ahead[:3] == [
        "Goodput of BBR and CUBIC, each in runs of its own: BBR faster",
        "  BBR: mean 2 Mbit/s, of 3 runs",
        "  CUBIC: mean 1 Mbit/s, of 3 runs",
    ]
    assert ahead[3].startswith("  Ratio of the geometric means, BBR / CUBIC: 2.000, 95 % interval 1.9")
    assert ahead[4] == "  Ratio of the arithmetic means, BBR / CUBIC: 2"
    assert ahead[5].endswith(" of a ratio beyond ±5 %; after Holm's correction for 1 question")
    assert ahead[6] == "  Why: the p value of a ratio of 1 is below 0.05"
    equal = compare([1.0e6, 1.001e6, 0.999e6], [1.0e6, 1.001e6, 0.999e6])
    assert equal[0].endswith(": equal within ±5 %")
    assert equal[6] == "  Why: the p value of a ratio beyond ±5 % is below 0.05"
    undecided = compare([1.0e6, 1.3e6, 0.7e6], [1.0e6, 1.2e6, 0.8e6])
    shown = r"these runs would show a difference of \S+ %; about \d+ runs of each would show one of 5 %"
    assert re.fullmatch(rf"  Why: neither p value is below 0\.05; {shown}", undecided[6])
    censored = compare([1.0, 1.1, 1.2, 1.3], [9.0, 9.1, 9.2, 9.3], measure="completion_s", known=False)
    assert censored[1] == "  BBR: mean –, of 4 runs"
    assert censored[-1].startswith("  Why: by the log-rank test, as not all times are known, ")


def test_a_suspect_run_that_a_row_would_have_is_named_as_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [run(n, {"bbr": 9.0 + n}, rtt_ms=10.0, condition_id="a", **FACTS) for n in (1, 2)]
    other = run(3, {"bbr": 9.0}, rtt_ms=20.0, condition_id="b", **FACTS)
    elsewhere = run(4, {"bbr": 9.0}, rtt_ms=10.0, condition_id="a", **FACTS | {"session": "t"})
    suspect = {"suspect_rule": "kernel_drops", "observed": 3.0, "bound": 0.0, "bound_unit": "events"}
    tables = gather(*runs, other, elsewhere) | {"suspects": [suspect | {"run_id": f"r{n}"} for n in (2, 3, 4)]}
    failed = {"attempt_outcome": "failed", "attempt_message": "client 1 did not end"}
    tries = (failed, failed, {"attempt_outcome": "interrupted"}, {"attempt_outcome": "completed"})
    tables["attempts"] = [{"run_id": "r2", "line_number": n} | tried for n, tried in enumerate(tries, 1)]
    database = build_database(tmp_path, tables)
    assert main(["explain", "jobs", "--row", "session=s", "--database", str(database)]) == 0
    printed = capsys.readouterr().out
    # Not of a session that has a row of its own. The row pools conditions, so one of which no run counts is told, too.
    told = [f"  r{n} (kernel_drops: 3 events, the bound is 0; page Ledger)\n" for n in (2, 3)]
    (rule,) = (rule for rule in RULES if rule.name == "kernel_drops")
    why = "    r2, 2 attempts failed: client 1 did not end\n"
    why += "    r2, 1 attempt interrupted (not counted as an attempt): no reason is recorded\n"
    why += f"    kernel_drops: {rule.definition} {rule.reason}\n"
    assert f"\nLeft out, though alike:\n{told[0]}{told[1]}{why}\nRaw files" in printed
    with connect(database) as connection, include_suspects(connection):
        trace = load_trace(connection, "jobs")
        row = connection.sql("FROM jobs WHERE session = 's'").pl().row(0, named=True)
        assert {*trace.select_runs(row)["run_id"]} == {"r1", "r2", "r3"}


def test_runs_that_fit_a_row_and_are_not_of_its_table_are_counted_with_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [run(n, {"bbr": 9.0 + n}, rtt_ms=10.0, condition_id="a", **FACTS) for n in (1, 2)]
    others = [run(n, {"bbr": 9.0}, rtt_ms=10.0, buffer_bytes=25_000, condition_id="b", **FACTS) for n in (3, 4)]
    uncounted = run(5, {"bbr": 9.0}, rtt_ms=10.0, is_counted=False, is_interrupted=True, condition_id="a", **FACTS)
    far = run(6, {"bbr": 9.0}, rtt_ms=60.0, condition_id="c", **FACTS)
    database = build_database(tmp_path, gather(*runs, *others, uncounted, far))
    explain("table_2", row="rtt_bucket=RTT < 30 ms", database=database)
    printed = capsys.readouterr().out
    left = printed.partition("\nLeft out, though alike (--full lists all):\n")[2].partition("\n\n")[0]
    condition = "(buffer_bytes IS NULL) OR (test_group = '100G to 10G')"
    buffered = f"  2 runs: Buffer (bytes) 25,000; Test group no loss, where the table has {condition}"
    assert left.splitlines() == [buffered, "  1 run: not counted, interrupted"]
    explain("table_2", row="rtt_bucket=RTT < 30 ms", database=database, full=True)
    assert f"{buffered}\n    r3\n    r4\n" in capsys.readouterr().out
    explain("table_2", row="rtt_bucket=RTT ≥ 30 ms", database=database)
    assert "\nLeft out, though alike:\n  no run\n" in capsys.readouterr().out


def test_an_evaluation_from_elsewhere_goes_by_the_name_of_its_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    own = Path(shutil.copyfile(EVALUATION, "mine.yaml"))
    Path("results/mine").mkdir(parents=True)
    build_database(Path("results/mine"), gather(run(1, {"bbr": 9.0}, rtt_ms=10.0, condition_id="a", **FACTS)), own)
    assert resolve_built("mine", Path("results")).samefile(own)
    with pytest.raises(InputError, match="no evaluation is called `nosuch`"):
        explain("table_2", database=Path("results"), evaluation="nosuch")


def test_without_a_row_the_runs_that_a_table_leaves_out_are_told(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "table_2", "--database", str(database)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(
        rf"{database.resolve().parent.name}, table_2_testbed: \d+ rows fit; name one of them:", lines[0]
    )
    chosen = lines.index("Which runs it has (7 of 10):")
    assert lines[chosen - 1] == ""
    assert lines[chosen + 1].startswith(
        "  The table is made of the runs that count and have the rate that it takes and path_class = 'testbed' AND "
    )
    # r8 has a buffer, r9 does not count, r10 is of another path.
    assert lines[chosen + 2 :] == [
        "",
        "Left out of the table (3), by the first reason that each has (--full lists all):",
        "  1 run: `(buffer_bytes IS NULL) OR (test_group = '100G to 10G')` is not true",
        "  1 run: `path_class = 'testbed'` is not true",
        "  1 run: not counted, not TCP",
    ]
    assert main(["explain", "table_2", "--database", str(database), "--full"]) == 0
    assert "\n    r8\n" in capsys.readouterr().out
    # What compares cells of other tables has their conditions.
    assert main(["explain", "comparisons", "--database", str(database)]) == 0
    printed = capsys.readouterr().out
    assert " OR (path_class = 'testbed' AND " in printed
    assert "  1 run: not counted, not TCP\n" in printed


def test_without_a_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"; `make report` builds one$"):
        explain("table_2", database=tmp_path / "archive.duckdb")
    for name in ("b", "a"):
        (tmp_path / "results" / name).mkdir(parents=True)
        (tmp_path / "results" / name / "archive.duckdb").touch()
    with pytest.raises(InputError, match=r"; --database names another: results/a, results/b$"):
        explain("table_2", database=tmp_path / "nowhere")


def test_a_name_of_the_archive_does_nothing_to_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = run(1, {"cubic": 10.0}, rtt_ms=50.0, session="s", job="\x1b[2Jgone\nrow", condition_id="a")
    explain("jobs", database=build_database(tmp_path, tables))
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "job=\\x1b[2Jgone\\nrow" in printed


def test_a_row_of_a_result_file_rests_on_that_file(tmp_path: Path) -> None:
    result = {"raw_file_id": "abc", "row_number": 0, "experiment_id": "e", "path": "old.dat", "host": "h.example.org"}
    result |= {"mode": "cubic", "flows_count": 16, "cc": "cubic", "throughput_bps": 1e9, "rtt_median_ms": 50.0}
    files = [raw_file("old.dat", None), raw_file("meta.json", None)]
    database = build_database(tmp_path, {"harness_results": [result], "raw_files": files})
    with connect(database) as connection:
        trace = load_trace(connection, "table_3_paths")
        row = connection.sql("FROM table_3_paths").pl().row(0, named=True)
        assert trace.files.find(trace.select_runs(row)) == [("run abc-0", [("old.dat", "o" * 64)])]


def test_a_folder_of_results_has_the_database_of_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for evaluation, tables in {"a": ("jobs", "cpu"), "b": ("jobs", "completion")}.items():
        (tmp_path / evaluation).mkdir()
        with duckdb.connect(tmp_path / evaluation / "archive.duckdb") as connection:
            connection.execute("CREATE VIEW runs AS SELECT 'r1' AS run_id")
            for table in tables:
                connection.execute(f"CREATE VIEW {table} AS SELECT 1; CREATE VIEW {table}_runs AS SELECT 1")
    assert find_database(tmp_path, "compl") == tmp_path / "b" / "archive.duckdb"
    other = tmp_path / "b/archive.duckdb"
    assert [table in list_tables(other) for table in ("jobs", "cpu")] == [True, False]
    assert find_database(tmp_path / "a" / "archive.duckdb", "jobs") == tmp_path / "a" / "archive.duckdb"
    with pytest.raises(InputError, match=r"several evaluations have a table `jobs`.*a/archive\.duckdb, .*b/archive"):
        find_database(tmp_path, "jobs")
    (tmp_path / "b/archive.duckdb").rename(tmp_path / "c.duckdb")
    (tmp_path / "results").mkdir()
    (tmp_path / "a").rename(tmp_path / "results/a")
    (tmp_path / "b").rename(tmp_path / "results/b")
    (tmp_path / "c.duckdb").rename(tmp_path / "results/b/archive.duckdb")
    # The configuration lies beside the folder of results.
    (tmp_path / "config.yaml").write_text("evaluation: evaluations/b.yaml\n")
    assert find_database(tmp_path / "results", "jobs") == tmp_path / "results/b/archive.duckdb"
    assert find_database(tmp_path / "results", "cpu") == tmp_path / "results/a/archive.duckdb"
    # What the report's own evaluation is, the folder says as well: it is not one of the sections.
    (tmp_path / "config.yaml").write_text("evaluation: gone\n")
    (tmp_path / "results/sections.txt").write_text("a\n")
    assert find_databases(tmp_path / "results")[0] == tmp_path / "results/b/archive.duckdb"
    (tmp_path / "config.yaml").write_text("evaluation: evaluations/b.yaml\n")
    with pytest.raises(InputError, match=r"no published table `jbos`; did you mean `jobs`\?"):
        find_database(tmp_path / "results", "jbos")
    elsewhere = find_elsewhere("cpu", tmp_path / "results/b/archive.duckdb")
    assert elsewhere == "; the evaluation a has it: --database results/a"
    assert find_elsewhere("jbos", tmp_path / "results/b/archive.duckdb") == ""
    assert find_elsewhere("jobs", tmp_path / "results/c/archive.duckdb") == (
        "; the evaluations a, b have it: --database results/a or results/b"
    )
    with pytest.raises(InputError, match=r"^no published table `cpu`; the evaluation a has it: --database results/a$"):
        explain("cpu", database=tmp_path / "results/b/archive.duckdb")
    with pytest.raises(InputError, match=r"^no database at a; did you mean `results/a`\?$"):
        find_databases(Path("a"))
    # After a build of another archive by another evaluation, the configured one is of the archive before.
    (tmp_path / "results/archive.json").write_text("{}")
    os.utime(tmp_path / "results/archive.json", (2e9, 2e9))
    os.utime(tmp_path / "results/a/archive.duckdb", (2.1e9, 2.1e9))
    assert find_database(tmp_path / "results", "jobs") == tmp_path / "results/a/archive.duckdb"


def test_files_that_are_gone_are_said_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(BUILD_PID_VARIABLE, raising=False)
    (tmp_path / "results/own").mkdir(parents=True)
    pl.DataFrame({"run_id": ["one"]}).write_parquet(tmp_path / "results/runs.parquet")
    database = tmp_path / "results/own/archive.duckdb"
    with contextlib.chdir(tmp_path), duckdb.connect(database) as connection:
        connection.execute("CREATE VIEW runs AS FROM read_parquet(['results/runs.parquet'])")
    (tmp_path / "results/runs.parquet").rename(tmp_path / "results/gone.parquet")
    (tmp_path / "results/runs.parquet").symlink_to("nowhere")
    assert main(["export", "one", "--database", str(database)]) == 1
    said = capsys.readouterr().err
    assert "; build its evaluation once more: `make report`, or `make report ARCHIVE=path`" in said
    assert said.count("\n") == 1
    # Of a view of several files one is gone, as after a build of another archive.
    with contextlib.chdir(tmp_path), duckdb.connect(database) as connection:
        pl.DataFrame({"run_id": ["two"]}).write_parquet("results/more.parquet")
        connection.execute(
            "CREATE OR REPLACE VIEW runs AS FROM read_parquet(['results/gone.parquet', 'results/more.parquet'])"
        )
    (tmp_path / "results/more.parquet").unlink()
    assert main(["sql", "FROM runs", "--database", str(database)]) == 1
    said = capsys.readouterr().err
    assert f"{database} cannot be read: files that it was made from are gone; build its evaluation once more: " in said
    assert said.count("\n") == 1
    # While a build runs they may be there again soon, and so may a whole database.
    under_way = f" a build writes into {tmp_path / 'results'} now; ask again when it has ended\n"
    with lock_results(tmp_path / "results"):
        assert main(["sql", "FROM runs", "--database", str(database)]) == 1
        assert capsys.readouterr().err.endswith(f"files that it was made from are gone;{under_way}")
        database.write_bytes(b"")
        assert main(["sql", "FROM runs", "--database", str(database)]) == 1
        assert capsys.readouterr().err.endswith(f"{database} cannot be opened:{under_way}")
        # A build has files that are gone in its own steps only by a fault.
        monkeypatch.setenv(BUILD_PID_VARIABLE, "1")
        assert describe_build(tmp_path / "results") == ""


def test_without_a_table_all_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "own").mkdir()
    build_database(tmp_path / "own", run(1, {"cubic": 10.0}, rtt_ms=50.0))
    assert main(["explain", "--database", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("own, tables:\n  coefficients\n  comparisons\n")
    assert "  table_2_testbed\n" in printed
    # Of what was made before another archive was read there is only the name.
    (tmp_path / "older").mkdir()
    older = build_database(tmp_path / "older", run(1, {"cubic": 10.0}, rtt_ms=50.0))
    (tmp_path / "archive.json").write_text("{}")
    os.utime(older, (1e9, 1e9))
    os.utime(tmp_path / "archive.json", (2e9, 2e9))
    os.utime(tmp_path / "own/archive.duckdb", (2e9, 2e9))
    assert main(["explain", "--database", str(tmp_path)]) == 0
    listed = capsys.readouterr().out
    assert listed.count("table_2_testbed") == 1
    assert listed.endswith("Older than the last reading of an archive: older; a build makes them anew.\n")

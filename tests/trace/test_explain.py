import contextlib
import os
import re
import shutil
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from archives import ROOT
from condition_runs import build_database
from test_summarise import EVALUATION, gather, run

from ccreport.__main__ import EXAMPLES, main
from ccreport.core.declarations import load_yaml
from ccreport.core.errors import InputError
from ccreport.core.tables import load_schema
from ccreport.measure.suspects.measure import RULES
from ccreport.summarise.database import connect, read_files
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
    find_table,
    list_tables,
    resolve_built,
)
from ccreport.trace.raw_files import load_files_by_algorithm
from ccreport.trace.rows.left_out import _split
from ccreport.trace.rows.load_trace import load_trace, recompute_row
from ccreport.trace.rows.select_rows import find_row, name_row

FACTS = {"session": "s", "job": "j", "cpu_sender_mean_pct": 20.0}


def raw_file(path: str, run_id: str | None, **facts: Any) -> dict[str, Any]:
    known = {"raw_file_id": path, "path": path, "experiment_id": "e", "session": "s", "job": "j", "run_id": run_id}
    return known | {"kind": "ss", "size_bytes": 1, "sha256": path[0] * 64, "state": "ingested"} | facts


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tables = gather(
        *(run(n, {"bbr": rate}, rtt_ms=10.0, condition_id="a", **FACTS) for n, rate in ((1, 9.0), (2, 11.0))),
        *(run(n, {"bbr": rate}, rtt_ms=20.0, condition_id="b", **FACTS) for n, rate in ((3, 18.0), (4, 22.0))),
        *(run(n, {"cubic": rate}, rtt_ms=10.0, condition_id="c", **FACTS) for n, rate in ((5, 10.0), (6, 30.0))),
        run(7, {"cubic": 5.0, "bbr": 35.0}, rtt_ms=10.0, condition_id="f", loss_pct=0.1, **FACTS),
        run(8, {"cubic": 5.0, "bbr": 3.0}, rtt_ms=10.0, condition_id="g", buffer_bytes=25_000, **FACTS),
        run(9, {"bbr": 1.0}, rtt_ms=10.0, condition_id="a", is_counted=False, **FACTS),
        run(10, {"cubic": 8.0}, rtt_ms=60.0, condition_id="h", host="far.example.org", **FACTS),
    )
    tables |= {
        "raw_files": [
            raw_file("1/src", "r1"),
            raw_file("2/src", "r2"),
            raw_file("2/left", "r2", state="ignored"),
            raw_file("7/src", "r7"),
            raw_file("meta.json", None),
            raw_file("other/meta.json", None, experiment_id="x"),
        ]
    }
    return build_database(tmp_path_factory.mktemp("explained"), tables)


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


@pytest.mark.parametrize(
    "cell",
    [
        "test_group=no loss,flows_count=16.0,algorithm=BBR",
        "test_group=no loss,flows_count>=16,flows_count<=16,algorithm=BBR",
        "test_group=no loss,flows_count > 15,algorithm=BBR,sharing=alone",
        # As keyboards have it, for `RTT < 30 ms`, in whose value a sign is not a comparison.
        "test_group=no loss,rtt_bucket=RTT < 30 ms,algorithm=BBR",
    ],
)
def test_numbers_are_compared_as_numbers(cell: str, database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    explain("table_2", row=cell, database=database)
    assert "  Rate mean (Mbit/s)  15.00 (" in capsys.readouterr().out


def test_the_examples_of_the_help_are_cells_of_the_paper_s_table(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["explain", "--help"])
    printed = " ".join(capsys.readouterr().out.split())
    cells = {cell for cell in re.findall(r"`([^`]+)`", printed) if re.search(r"\w(=|>=)\w", cell)}
    assert cells == {"test_group=no loss,flows_count=16", "flows_count>=16"}
    of_help = [EXAMPLES["explain"].split('"')[1], *cells]
    key = {"sharing": "both", "flows_count": 16, "rtt_bucket": "RTT < 30 ms", "algorithm": "BBR"}
    for cell in of_help:
        summary = pl.DataFrame([key | {"test_group": "0.1 % loss" if "0.1" in cell else "no loss"}])
        assert find_row(summary, "table_2_testbed", cell) == 1


def test_a_suspect_run_that_a_row_would_have_is_named_as_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [run(n, {"bbr": 9.0 + n}, rtt_ms=10.0, condition_id="a", **FACTS) for n in (1, 2)]
    other = run(3, {"bbr": 9.0}, rtt_ms=20.0, condition_id="b", **FACTS)
    elsewhere = run(4, {"bbr": 9.0}, rtt_ms=10.0, condition_id="a", **FACTS | {"session": "t"})
    suspect = {"suspect_rule": "kernel_drops", "observed": 3.0, "bound": 0.0, "bound_unit": "events"}
    tables = gather(*runs, other, elsewhere) | {"suspects": [suspect | {"run_id": f"r{n}"} for n in (2, 3, 4)]}
    failed = {"attempt_outcome": "failed", "attempt_message": "client 1 did not end"}
    tries = (failed, failed, {"attempt_outcome": "completed"})
    tables["attempts"] = [{"run_id": "r2", "line_number": n} | tried for n, tried in enumerate(tries, 1)]
    database = build_database(tmp_path, tables)
    assert main(["explain", "jobs", "--row", "session=s", "--database", str(database)]) == 0
    printed = capsys.readouterr().out
    # Not of a session that has a row of its own. The row pools conditions, so one of which no run counts is told, too.
    told = [f"  r{n} (kernel_drops: 3 events, the bound is 0; page Ledger)\n" for n in (2, 3)]
    (rule,) = (rule for rule in RULES if rule.name == "kernel_drops")
    why = "    r2, 2 attempts failed: client 1 did not end\n"
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


def test_a_condition_may_have_comments() -> None:
    with duckdb.connect() as connection:
        parts = list(_split(connection, "loss_pct > 0 -- lossy\nAND (host = 'a' AND job IS NULL) -- one"))
    assert [names for _, names in parts] == [["loss_pct"], ["host"], ["job"]]


def test_a_size_may_be_typed_as_pages_have_it_without_its_blank() -> None:
    key = {"sharing": "both", "flows_count": 16, "algorithm": "BBR"}
    summary = pl.DataFrame([key | {"buffer_bytes": size} for size in (8_000_000, 16_000_000)])
    for text in ("16 MB", "16MB", "16mb", "16e6"):
        assert find_row(summary, "table_1_buffer_size", f"buffer_bytes={text}") == 2


def test_of_many_rows_the_values_of_their_keys_are_told() -> None:
    key = {"test_group": "no loss", "sharing": "both", "rtt_bucket": None}
    summary = pl.DataFrame(
        [key | {"flows_count": n, "algorithm": cc} for n in reversed(range(20)) for cc in ("BBR", "CUBIC")]
    )
    with pytest.raises(InputError) as refused:
        find_row(summary, "table_2_testbed", "flows_count>=1")
    assert [line.strip() for line in str(refused.value).splitlines()] == [
        "table_2_testbed: 38 rows fit; name one by values of these keys:",
        "test_group   no loss",
        "sharing      both",
        "flows_count  1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | and 7 more",
        "algorithm    BBR | CUBIC",
        'for example --row "test_group=no loss,sharing=both,flows_count=19,algorithm=BBR"',
    ]


def test_a_value_may_have_its_unit_and_the_kernel_s_name_of_an_algorithm() -> None:
    key = {"host": "h", "labels": None, "flows_count": 1}
    rows = [(0.1, 2e7, "BBR"), (0.5, 2e7, "BBR"), (0.5, 1e9, "CUBIC")]
    columns = ("loss_pct", "bottleneck_bps", "algorithm")
    summary = pl.DataFrame([key | dict(zip(columns, row, strict=True)) for row in rows])
    assert find_row(summary, "means", "loss_pct=0.1 %") == 1
    assert find_row(summary, "means", "loss_pct>=0.5%,bottleneck_bps=20 Mbit/s") == 2
    members = {"BBR": ["bbr2"], "CUBIC": ["cubic"]}
    assert find_row(summary, "means", "bottleneck_bps=1Gbps,algorithm=cubic", members=members) == 3
    with pytest.raises(InputError, match=r"no algorithm `bbr` there.*BBR is bbr2 here"):
        find_row(summary, "means", "algorithm=bbr", members=members)
    with pytest.raises(InputError, match=r"no loss_pct `0.1 ms` there"):
        find_row(summary, "means", "loss_pct=0.1 ms")


def test_all_wrong_keys_are_told_at_once() -> None:
    summary = pl.DataFrame([{"test_group": "no loss", "sharing": "both", "flows_count": 16}])
    with pytest.raises(InputError) as refused:
        find_row(summary, "table_2_testbed", "tst_group=no loss,flows_count=17", "sharing=bot")
    assert [line.split("; ")[1] for line in str(refused.value).splitlines()] == [
        "did you mean `test_group=no loss`?",
        "there are `16`",
        "did you mean `both`?",
    ]


def test_signs_of_tables_may_be_typed() -> None:
    key = {"test_group": "no loss", "sharing": "both", "flows_count": 16, "algorithm": "BBR"}
    buckets = ["RTT < 30 ms", "RTT 30–60 ms", "RTT ≥ 60 ms", "RTT unknown"]
    summary = pl.DataFrame([key | {"rtt_bucket": bucket} for bucket in buckets])
    typed = ["RTT < 30 ms", "RTT 30-60 ms", "RTT >= 60 ms", "RTT unknown"]
    assert [find_row(summary, "table_2_testbed", f"rtt_bucket={text}") for text in typed] == [1, 2, 3, 4]
    for text in ("rtt_bucket=≥", "rtt_bucket=>=", "rtt_bucket>=60", "rtt_bucket=>=60", "rtt_bucket >= 60 ms"):
        assert find_row(summary, "table_2_testbed", text) == 3


def test_case_does_not_matter_where_nothing_is_spelt_so() -> None:
    key = {"path_class": "esnet", "sharing": "both", "flows_count": 16, "rtt_bucket": "RTT < 30 ms", "algorithm": "BBR"}
    summary = pl.DataFrame([key | {"sender_speed": speed} for speed in ("10g", "40g", "A", "a")])
    summary = pl.concat([summary, summary.with_columns(path_class=pl.lit("non-esnet"))])
    assert find_row(summary, "table_3_paths", "sender_speed=40G,path_class=ESnet") == 2
    assert find_row(summary, "table_3_paths", "sender_speed=A,path_class=esnet") == 3
    assert find_row(summary, "table_3_paths", "sender_speed=a,path_class=Non-ESnet") == 8


def test_sizes_may_be_written_as_on_the_pages(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for size in ("25000", "25 kB"):
        explain("table_1", row=f"buffer_bytes={size}", column="algorithm=CUBIC", database=database)
        assert "Rate mean (Mbit/s)  5.000" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("table", "cell", "message"),
    [
        ("table_4", "", r"no published table `table_4`; did you mean `table_"),
        ("table_", "", r"several tables begin with `table_`: table_1_buffer_size, table_2_testbed"),
        ("table_2", "colour=red", r"no key `colour`; name a cell by test_group, sharing, flows_count"),
        ("table_2", "flows_count=16,rtt_ms=80", r"has no key `rtt_ms`; name a cell by test_group"),
        ("table_2", "flows_count=16,rtt_ms<30", r"has no key `rtt_ms`; did you mean `rtt_bucket<30`\?$"),
        ("table_2", "column=1,loss=0.1,rtt=1", r"key `column`; .*\n.*key `loss`; did .*=0\.1`\?\n.*key `rtt`"),
        (
            "table_2",
            "rate_mean_bps",
            r"no key `rate_mean_bps`: that is a number, and of the row that you name .* leave it out$",
        ),
        ("table_2", "flows_count>16", r"no flows_count `> 16` there; there are `16`"),
        ("table_2", "flows_count>x", r"no flows_count `> x` there; `x` is not a number$"),
        ("table_2", "test_group=0.2 % loss", r"no test_group `0\.2 % loss` there; there are `.*`0\.1 % loss`"),
        ("table_2", "flows_count=>17", r"no flows_count `>= 17` there; there are `16`$"),
        (
            "r1",
            "",
            r"no published table `r1`, but a run: sql \"FROM labelled_runs WHERE run_id = 'r1'\" has its labels",
        ),
        ("table_2", "flows_count=17", r"no flows_count `17` there; there are `16`$"),
        ("table_2", "flow_count=16", r"no key `flow_count`; did you mean `flows_count=16`\?$"),
        ("table_2", "BBR", r"has no key `BBR`; did you mean `algorithm=BBR`\?"),
        ("table_2", "loss_pct=0.1", r"has no key `loss_pct`; did you mean `test_group=0\.1`\?"),
        # Also where another key has left none of the rows with such a value.
        ("table_2", "test_group=no loss,loss_pct=0.1", r"has no key `loss_pct`; did you mean `test_group=0\.1`\?"),
        ("goodput_bps", "", r"no published table `goodput_bps`, but a column: sql \"DESCRIBE runs\" says what it is"),
        ("table_2", "sharing=both flows_count=16", r"no sharing `both flows_count=16` there; .*; commas part one key"),
        ("table_2", "loss=0.1 %", r"has no key `loss`; did you mean `test_group=0\.1 %`\?"),
        ("comparisons", "16 flows", r"has no key `16 flows`; did you mean `question=16 flows`\?"),
        # Only whole words of a value stand for it.
        ("table_2", "algorithm=BB", r"no algorithm `BB` there; did you mean `BBR`\?"),
        ("table_2", "test_group=1 %", r"no test_group `1 %` there"),
        ("table_2", "algorithm", r"the key `algorithm` needs a value; write `algorithm=BBR`, for example"),
        ("table_2", "algorithm=cubik", r"no algorithm `cubik` there; did you mean `CUBIC`\?$"),
        ("table_2", "algorithm=RENO", r"no algorithm `RENO` there; there are `BBR`, `CUBIC`"),
        ("table_2", "test_group=0.1 % loss", r"2 rows fit; name one of them:\n  test_group=0\.1 % loss,sharing=both"),
    ],
)
def test_what_is_not_there_is_answered_with_what_is(database: Path, table: str, cell: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        explain(table, row=cell, database=database)


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
    assert re.fullmatch(r"table_2_testbed: \d rows fit; name one of them:", lines[0])
    chosen = lines.index("Which runs it has:")
    assert lines[chosen - 1] == ""
    assert lines[chosen + 1].startswith(
        "  The table is made of the runs that count and have path_class = 'testbed' AND "
    )
    # r8 has a buffer, r9 does not count, r10 is of another path.
    assert lines[chosen + 2 :] == [
        "",
        "Left out of the table, by the first reason that each has (--full lists all):",
        "  1 run: `(buffer_bytes IS NULL) OR (test_group = '100G to 10G')` is not true",
        "  1 run: `path_class = 'testbed'` is not true",
        "  1 run: not counted, not TCP",
    ]
    assert main(["explain", "table_2", "--database", str(database), "--full"]) == 0
    assert "\n    r8\n" in capsys.readouterr().out
    # What compares cells of other tables has no condition of its own.
    assert main(["explain", "comparisons", "--database", str(database)]) == 0
    assert "Left out" not in capsys.readouterr().out


def test_without_a_database(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`make report` builds one"):
        explain("table_2", database=tmp_path / "archive.duckdb")


def test_an_exact_name_beats_longer_ones(database: Path) -> None:
    with connect(database) as connection:
        assert find_table(connection, "jobs") == "jobs"
        assert find_table(connection, "coef") == "coefficients"


def test_words_of_a_value_stand_for_it() -> None:
    lossy = [f"0.01 % loss, both, 16 flows, RTT {bucket}" for bucket in ("< 30 ms", "≥ 30 ms")]
    key = {"table_name": "t", "measure": "goodput_bps", "first_algorithm": "BBR", "second_algorithm": "CUBIC"}
    summary = pl.DataFrame([key | {"question": question} for question in (*lossy, "no loss, both", "both")])
    assert find_row(summary, "comparisons", "question=0.01 % loss, both, 16 flows, RTT >= 30") == 2
    assert find_row(summary, "comparisons", "question=no loss") == 3
    # What is equal goes before what has the words.
    assert find_row(summary, "comparisons", "question=both") == 4
    assert find_row(summary, "comparisons", "measure=goodput,question=No loss") == 3
    with pytest.raises(InputError, match=r"2 rows fit; name one of them:"):
        find_row(summary, "comparisons", "question=0.01 % loss, both")


def test_an_algorithm_may_be_called_as_its_only_member_is() -> None:
    key = {"test_group": "no loss", "sharing": "both", "flows_count": 16, "rtt_bucket": "RTT < 30 ms"}
    summary = pl.DataFrame([key | {"algorithm": name} for name in ("BBR", "CUBIC")])
    alone, several = ({"BBR": ccs, "CUBIC": ["cubic"]} for ccs in (["bbr2"], ["bbr1", "bbr2"]))
    assert find_row(summary, "table_2_testbed", "algorithm=BBRv2", members=alone) == 1
    for wanted, members, made_of in (("BBRv1", alone, "bbr2"), ("BBRv2", several, "bbr1 and bbr2")):
        with pytest.raises(InputError, match=rf"no algorithm `{wanted}` .* `BBR`\? \(BBR is {made_of} here\)$"):
            find_row(summary, "table_2_testbed", f"algorithm={wanted}", members=members)


def test_names_with_commas_and_without_values_name_their_row() -> None:
    key = {"host": "h", "sharing": "alone", "flows_count": 1, "algorithm": "BBR"}
    rows = [{"session": None, "job": "a,b=c", **key}, {"session": "s", "job": "a", **key}]
    summary = pl.DataFrame(rows, infer_schema_length=None)
    assert name_row("jobs", rows[0]).startswith("session=–,job=a,b=c,host=h")
    assert [find_row(summary, "jobs", name_row("jobs", row)) for row in rows] == [1, 2]


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
    with pytest.raises(InputError, match=r"^no database at a; did you mean `results/a`\?$"):
        find_databases(Path("a"))
    # After a build of another archive by another evaluation, the configured one is of the archive before.
    (tmp_path / "results/archive.json").write_text("{}")
    os.utime(tmp_path / "results/archive.json", (2e9, 2e9))
    os.utime(tmp_path / "results/a/archive.duckdb", (2.1e9, 2.1e9))
    assert find_database(tmp_path / "results", "jobs") == tmp_path / "results/a/archive.duckdb"


def test_files_that_are_gone_are_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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


def test_a_check_of_a_claim_can_be_tried_in_sql(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = (
        "SELECT (quotient_of(list(rate) FILTER (cc = 'cubic'), list(rate) FILTER (cc = 'cubic'))).value FROM measured"
    )
    assert main(["sql", query, "--database", str(database), "--rows", "0"]) == 1
    assert "--rows 0 would show nothing" in capsys.readouterr().err
    assert main(["sql", query, "--database", str(database)]) == 0
    assert " 1.0 " in capsys.readouterr().out
    for query in ([], ["SHOW TABLES"], ["show tables;"]):
        assert main(["sql", *query, "--database", str(database)]) == 0
        names = re.findall(r"│ (\w+)", capsys.readouterr().out)
        assert "measured" in names
        assert len(names) == len(set(names))


def test_sql_describes_a_table_by_names_and_types(
    database: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    assert main(["sql", "DESCRIBE measured", "--database", str(database)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("The report's page Dictionary has units, sources and whole meanings")
    # One sentence of what each means, of a table its own meaning.
    assert lines[0].split(maxsplit=2) == ["run_id", "VARCHAR", "One test execution, one iteration of"]
    assert lines[1].strip() == "one condition"
    counted = next(number for number, line in enumerate(lines) if line.startswith("is_counted "))
    assert " BOOLEAN " in lines[counted]
    assert lines[counted].endswith("The run counts in means, which suspect")
    assert lines[counted + 1].strip().startswith("runs do only ")
    assert max(map(len, lines[:-1])) <= 90
    assert any(line.startswith("rate ") and " STRUCT(…) " in line for line in lines)


def test_sql_names_texts_that_no_row_has(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queries = {
        "FROM measured WHERE algorithm = 'BBRv2'": ["No row has algorithm = 'BBRv2'; did you mean `BBR`?"],
        "FROM runs WHERE job IN ('j', 'x9') OR 'nobody' = host": [
            "No row has job = 'x9'; there are 'j'",
            "No row has host = 'nobody'; there are '10.0.0.2', 'far.example.org'",
        ],
        # What has another meaning, or is a row's, is not told.
        "FROM runs WHERE job = 'j' AND host <> 'nobody' AND run_id NOT LIKE 'r1%' AND rtt_ms < 70 AND 500 > rtt_ms": [],
        "FROM runs WHERE host LIKE 'NEAR.%' OR job ILIKE 'X%' OR rtt_ms >= 70": [
            "No row has host LIKE 'NEAR.%'; there are '10.0.0.2', 'far.example.org'",
            "No row has job ILIKE 'X%'; there are 'j'",
            "No row has rtt_ms >= 70; there are 10, 20, 60",
        ],
        "WITH own AS (SELECT 'a' AS name) FROM own WHERE name = 'a'": [],
        "FROM runs WHERE run_id IN (SELECT run_id FROM flows WHERE cc = 'reno')": [
            "No row has cc = 'reno'; there are 'bbr', 'cubic'"
        ],
        "FROM runs WHERE queue_discipline = 'fq'": ["No row has queue_discipline = 'fq'; there are none"],
        "FROM runs WHERE rtt_ms IN (10, 0.02)": ["No row has rtt_ms = 0.02; there are 10, 20, 60"],
        "FROM runs WHERE rtt_ms = '10.0' OR run_id = 'r1'": [],
        "SELECT * FROM range(20) AS t(n) WHERE n = 50": ["No row has n = 50; there are 20 others, from 0 to 19"],
    }
    for query, told in queries.items():
        assert main(["sql", query, "--database", str(database)]) == 0
        printed = capsys.readouterr().out.splitlines()
        assert [line for line in printed if line.startswith("No row")] == told


def test_sql_shows_six_digits_and_whole_numbers(
    database: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    values = "1e-9 / 3, 12345678.9 / 1::DOUBLE, -2::DOUBLE / 3, 0::DOUBLE, 'inf'::DOUBLE, NULL::DOUBLE, 123456789"
    assert main(["sql", f"SELECT {values}", "--database", str(database)]) == 0
    shown = next(line for line in capsys.readouterr().out.splitlines() if "e-10" in line and "│" in line)
    assert [cell.strip() for cell in shown.strip("│").split("│")] == [
        "3.33333e-10",
        "12345679.0",
        "-0.666667",
        "0.0",
        "inf",
        "NULL",
        "123456789",
    ]


def test_an_option_with_one_value_is_given_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["explain", "table_2", "--row", "sharing=both", "--row", "flows_count=16"])
    assert "--row is given twice; it takes one value" in capsys.readouterr().err


def test_an_empty_query_is_refused(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", " ;", "--database", str(database)]) == 1
    assert capsys.readouterr().err == "ccreport: the query is empty; without one, sql lists the tables\n"


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("SELECT (1 FROM runs", 'syntax error at or near "FROM"; a closing parenthesis is missing\n'),
        ("SELECT 1) FROM runs", "; an opening parenthesis is missing\n"),
        ("SELECT cv(rtt_ms) FROM runs", "; write stddev(x) / avg(x), the coefficient of variation of x\n"),
        ("FROM table_2", "does not exist; did you mean `table_2_testbed`?\n"),
        ("SELECT test_group FROM runs", "; `measured`, `labelled_runs`, `algorithm_runs` have it"),
        ("SELECT r.rtt_bucket FROM runs AS r", "? `measured`, `labelled_runs`, `algorithm_runs` have `rtt_bucket`"),
        ("SELECT cc, avg(goodput_bps) FROM runs GROUP BY cc", "? `measured`, `algorithm_runs`, `flows` have `cc`"),
        # Of a table of few columns these are named before others that have it.
        ("SELECT status FROM raw_files", "; did you mean `state`? `grouped_requests`, "),
        ("SELECT rtt_ms FROM raw_files", "size_bytes, sha256, state, rule, reason; `measured`, "),
        ("SELECT goodput FROM runs", "; did you mean `goodput_bps`?"),
        ("FROM table_2", "; did you mean `table_2_testbed`?"),
    ],
)
def test_sql_says_which_table_has_a_column(
    query: str, hint: str, database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sql", query, "--database", str(database)]) == 1
    assert hint in capsys.readouterr().err


def test_questions_of_the_documentation_have_answers(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    section = (ROOT / "reports/commands.qmd").read_text().partition("{#commands-sql}")[2].partition("\n## ")[0]
    queries = re.findall(r'ccreport sql "(.*?)"\n', section, re.DOTALL)
    assert len(queries) == 6
    for query in queries:
        assert main(["sql", query, "--database", str(database)]) == 0, capsys.readouterr().err
        assert capsys.readouterr().out.startswith("┌")
    # What is asked most is said where one begins.
    assert main(["sql", "--database", str(database)]) == 0
    asked = re.findall(r'sql "(.*)"', capsys.readouterr().out)
    assert len(asked) == 2
    for query in asked:
        assert main(["sql", query, "--database", str(database)]) == 0


def test_sql_prints_a_table_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The database has paths relative to the folder that its build was called in."""
    (tmp_path / "it's [a] */results/own").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "it's [a] *")
    table = Path("results/names.parquet")
    pl.DataFrame({"job": ["\x1b[2Jgone"], "number": [7]}).write_parquet(table)
    with duckdb.connect("results/own/archive.duckdb") as connection:
        connection.execute(f"CREATE VIEW names AS {read_files([table])}")
    pl.DataFrame({"claim": ["fair"], "check": ["share"]}).write_parquet("results/own/claims.parquet")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert main(["sql", "SELECT number * 6 AS answer, job FROM names", "--database", "../it's [a] */results"]) == 0
    printed = capsys.readouterr().out
    assert "answer" in printed
    assert " 42 " in printed
    assert "\x1b" not in printed
    # What is judged by the database is a table beside it.
    assert main(["sql", "FROM claims", "--database", "../it's [a] */results"]) == 0
    assert " fair " in capsys.readouterr().out
    assert main(["sql", "SELECT check FROM claims", "--database", "../it's [a] */results"]) == 1
    assert "text takes single quotes ('check'), a column of this name double ones" in capsys.readouterr().err
    assert main(["sql", "FROM nmaes", "--database", "../it's [a] */results"]) == 1
    assert capsys.readouterr().err == "ccreport: Table with name nmaes does not exist; did you mean `names`?\n"
    assert main(["sql", "SELECT nubmer FROM names", "--database", "../it's [a] */results"]) == 1
    said = capsys.readouterr().err
    assert said.endswith("; did you mean `number`?\n")
    assert said.count("\n") == 1
    assert main(["sql", "SELECT 1; SELECT 2", "--database", "../it's [a] */results"]) == 1
    assert capsys.readouterr().err == "ccreport: there is more than one statement; only one is shown at a time\n"
    for query in ("DROP VIEW names", "CREATE TABLE mine AS FROM names", "INSERT INTO names VALUES ('a', 1)"):
        assert main(["sql", query, "--database", "../it's [a] */results"]) == 1
        assert capsys.readouterr().err.startswith("ccreport: the database is read only, as a build makes it; save an ")


def test_the_configured_results_answer_where_none_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, number in (("results", 1), ("out/mine", 2)):
        table = Path(folder, "names.parquet")
        Path(folder, "own").mkdir(parents=True)
        pl.DataFrame({"number": [number]}).write_parquet(table)
        with duckdb.connect(f"{folder}/own/archive.duckdb") as connection:
            connection.execute(f"CREATE VIEW names AS {read_files([table])}")
    query = "SELECT 'it is ' || number AS told FROM names"
    Path("config.yaml").write_text("evaluation: own\npathvars: {results: out/mine}\n")
    assert main(["sql", query]) == 0
    printed = capsys.readouterr()
    assert (" it is 2 " in printed.out, printed.err) == (True, "")
    assert main(["sql", query, "--database", "results"]) == 0
    assert " it is 1 " in capsys.readouterr().out
    Path("config.yaml").write_text("evaluation: evaluations/other.yaml\n")
    said = "note: results/own answers, as the configured evaluation `other` is not built; --database names others\n"
    assert main(["sql", query]) == 0
    printed = capsys.readouterr()
    # Beside piped rows nothing is said, unless there are none.
    assert (" it is 1 " in printed.out, printed.err) == (True, "")
    assert main(["sql", "FROM nothing"]) == 1
    assert capsys.readouterr().err.startswith(f"{said}ccreport: ")
    with monkeypatch.context() as terminal:
        terminal.setattr("sys.stdout.isatty", lambda: True)
        assert main(["sql", query]) == 0
    assert capsys.readouterr().err == said
    assert main(["explain", "tables"]) == 0
    assert capsys.readouterr().err == said
    Path("config.yaml").write_text("pathvars: {results: nowhere}\n")
    drawn = ["plot_figure", "--evaluation", "generic", "--figure", "rate_by_loss", "--output", "drawn"]
    for command in (["plan_runs"], ["export", "r1"], drawn):
        assert main(command) == 1
        assert "nowhere" in capsys.readouterr().err


def test_sql_asks_the_results_that_are_named_whatever_they_are_called_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in (1, 2):
        # As two builds one after the other, each of which is moved away.
        table = Path("results/tables/names.parquet")
        table.parent.mkdir(parents=True)
        pl.DataFrame({"number": [number]}).write_parquet(table)
        Path("results/own").mkdir()
        with duckdb.connect("results/own/archive.duckdb") as connection:
            connection.execute(f"CREATE VIEW names AS {read_files([table])}")
        if number == 1:
            Path("results").rename("former")
    for folder, number in (("results", 2), ("former", 1)):
        assert main(["sql", "SELECT 'it is ' || number AS told FROM names", "--database", folder]) == 0
        assert f" it is {number} " in capsys.readouterr().out
    # Built with an absolute path they can be asked only where they were built.
    for folder in ("first", "second"):
        table = tmp_path / folder / "tables/names.parquet"
        table.parent.mkdir(parents=True)
        pl.DataFrame({"number": [7]}).write_parquet(table)
        (tmp_path / folder / "own").mkdir()
        with duckdb.connect(str(tmp_path / folder / "own/archive.duckdb")) as connection:
            connection.execute(f"CREATE VIEW names AS {read_files([table])}")
    assert main(["sql", "FROM names", "--database", "first"]) == 0
    shutil.rmtree("second")
    Path("first").rename("second")
    assert main(["sql", "FROM names", "--database", "second"]) == 1
    shutil.copytree("second", "first")
    assert main(["sql", "FROM names", "--database", "second"]) == 1
    assert capsys.readouterr().err.count("built with an absolute path of results, and these are not there") == 2
    Path("former/tables/names.parquet").unlink()
    assert main(["sql", "FROM names", "--database", "former"]) == 1
    said = capsys.readouterr().err
    assert "reads results/tables/names.parquet, which is not beside it; build its evaluation once more" in said


def test_labels_are_keys_and_empty_keys_are_not_listed() -> None:
    row = dict.fromkeys(load_schema("means").key)
    rows = [
        row | {"labels": "distance=far; lossy=some loss", "algorithm": "CUBIC"},
        row | {"labels": "distance=near; lossy=some loss", "algorithm": "CUBIC"},
        row | {"labels": None, "algorithm": "CUBIC"},
    ]
    summary = pl.DataFrame(rows, infer_schema_length=None)
    assert find_row(summary, "means", "algorithm=CUBIC, distance=near") == 2
    assert find_row(summary, "means", "labels=distance=far; lossy=some loss") == 1
    with pytest.raises(InputError) as caught:
        find_row(summary, "means", "lossy=some loss")
    assert str(caught.value).splitlines()[1] == "  labels=distance=far; lossy=some loss,algorithm=CUBIC"
    with pytest.raises(InputError, match="has no distance `middle` there; there are `far`, `near`, `–`"):
        find_row(summary, "means", "distance=middle")


def test_a_database_of_an_archive_that_was_read_again_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own").mkdir()
    with duckdb.connect(str(tmp_path / "own/archive.duckdb")) as connection:
        connection.execute("CREATE TABLE runs AS SELECT 1 AS number")
    facts = tmp_path / "archive.json"
    facts.write_text("{}")
    for moved_s, is_warned in ((-60, False), (60, True)):
        made_s = (tmp_path / "own/archive.duckdb").stat().st_mtime
        os.utime(facts, (made_s + moved_s, made_s + moved_s))
        assert main(["sql", "FROM runs", "--database", str(tmp_path)]) == 0
        assert ("Build its evaluation once more: `make report`" in capsys.readouterr().err) is is_warned


def test_an_answer_that_cannot_be_saved_is_not_the_databases_fault(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "absent/x.csv"
    assert main(["sql", f"COPY (FROM runs) TO '{target}'", "--database", str(database)]) == 1
    assert capsys.readouterr().err == f'ccreport: Cannot open file "{target}": No such file or directory\n'

"""Rows as people name them for `explain`: by values, units, signs and words, and the answer where none is meant."""

import re
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import polars as pl
import pytest

from ccreport.__main__ import EXAMPLES, main
from ccreport.core.errors import InputError
from ccreport.core.tables import load_schema
from ccreport.summarise.database import connect
from ccreport.trace.explain import explain
from ccreport.trace.find_table import find_table
from ccreport.trace.rows.candidates import _split
from ccreport.trace.rows.select_rows import find_row, name_row


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


def test_a_condition_may_have_comments() -> None:
    with duckdb.connect() as connection:
        parts = list(_split(connection, "loss_pct > 0 -- lossy\nAND (host = 'a' AND job IS NULL) -- one"))
    assert [names for _, names in parts] == [["loss_pct"], ["host"], ["job"]]


def test_a_size_may_be_typed_as_pages_have_it_without_its_blank() -> None:
    key = {"sharing": "both", "flows_count": 16, "algorithm": "BBR"}
    summary = pl.DataFrame([key | {"buffer_bytes": size} for size in (8_000_000, 16_000_000)])
    for text in ("16 MB", "16MB", "16mb", "16e6"):
        assert find_row(summary, "table_1_buffer_size", f"buffer_bytes={text}") == 2


def test_a_time_needs_no_zone() -> None:
    key = {"grouped_by": "algorithm", "series": "CUBIC", "machine": "edge"}
    times = [datetime(2026, 11, 26, 11, 37, second, tzinfo=UTC) for second in (0, 30)]
    summary = pl.DataFrame([key | {"interval_start_utc": time} for time in times])
    for text in ("2026-11-26 11:37:30+00:00", "2026-11-26 11:37:30", "11:37:30"):
        assert find_row(summary, "edge_machine_retransmits", f"interval_start_utc={text}") == 2
    with pytest.raises(InputError, match="2 rows fit"):
        find_row(summary, "edge_machine_retransmits", "interval_start_utc=11:37")


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


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("loss_pct=1e-3", "; did you mean `test_group=0.001`?"),
        ("loss=0.0010", "; did you mean `test_group=0.001`?"),
        ("flow=7", "; did you mean `flows_count`?"),
        # Not `flows_count`, of which no word is like one of it.
        ("loss_pct=0.7", "; name a cell by test_group, sharing, flows_count, rtt_bucket, algorithm, each as key=value"),
    ],
)
def test_a_wrong_key_is_answered_by_the_one_that_has_the_value_or_by_all(typed: str, meant: str) -> None:
    key = {"sharing": "both", "flows_count": 16, "rtt_bucket": "RTT < 30 ms", "algorithm": "BBR"}
    summary = pl.DataFrame([key | {"test_group": group} for group in ("no loss", "0.001 % loss")])
    with pytest.raises(InputError) as refused:
        find_row(summary, "table_2_testbed", typed)
    assert str(refused.value) == f"table_2_testbed has no key `{typed.partition('=')[0]}`{meant}"
    # No blank is needed in front of a per cent.
    for group in ("0.001% loss", "0.001%"):
        assert find_row(summary, "table_2_testbed", f"test_group={group}") == 2


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
        (
            "table_2",
            "flows_count!=16",
            r"^table_2_testbed: `!=` is not one of the comparisons, which are =, <, <=, > and",
        ),
        ("table_2", "sharing=both,flows_count==16", r"^table_2_testbed: `==` is not one"),
        ("table_2", "flows_count>x", r"no flows_count `> x` there; `x` is not a number$"),
        ("table_2", "test_group=0.2 % loss", r"no test_group `0\.2 % loss` there; there are `.*`0\.1 % loss`"),
        ("table_2", "flows_count=>17", r"no flows_count `>= 17` there; there are `16`$"),
        (
            "r1",
            "",
            r"no published table `r1`, but a run: sql \"FROM labelled_runs WHERE run_id = 'r1'\" has its labels",
        ),
        # A part of its name
        (
            "10",
            "",
            r"no published table `10`, but a run: sql \"FROM labelled_runs WHERE run_id = 'r10'\" has its labels",
        ),
        ("table_2", "flows_count=17", r"no flows_count `17` there; there are `16`$"),
        ("table_2", "flow_count=16", r"no key `flow_count`; did you mean `flows_count=16`\?$"),
        ("table_2", "BBR", r"has no key `BBR`; did you mean `algorithm=BBR`\?"),
        ("table_2", "loss_pct=0.1", r"has no key `loss_pct`; did you mean `test_group=0\.1`\?"),
        # Also where another key has left none of the rows with such a value.
        ("table_2", "test_group=no loss,loss_pct=0.1", r"has no key `loss_pct`; did you mean `test_group=0\.1`\?"),
        (
            "measured",
            "",
            r", but a view: what claims are queries of: .*; `python -m ccreport sql 'FROM measured'` prints it$",
        ),
        (
            "labelled_runs",
            "",
            r", but a view: the runs with the labels .*; `python -m ccreport sql 'FROM labelled_runs'`",
        ),
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


def test_a_label_with_the_name_of_a_column_is_no_key_of_its_own() -> None:
    row = dict.fromkeys(load_schema("means").key) | {"labels": "flows_count=few; distance=far", "algorithm": "CUBIC"}
    assert name_row("means", row, ("labels", "algorithm")) == "labels=flows_count=few; distance=far,algorithm=CUBIC"
    assert find_row(pl.DataFrame([row]), "means", name_row("means", row)) == 1


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
    named = str(caught.value).splitlines()[1]
    assert named == "  distance=far,lossy=some loss,algorithm=CUBIC"
    assert find_row(summary, "means", named.strip()) == 1
    assert [find_row(summary, "means", name_row("means", one)) for one in rows] == [1, 2, 3]
    # Of many rows the values of each label are listed, not their texts together.
    many = pl.DataFrame([one | {"flows_count": count} for one in rows[:2] for count in range(9)])
    with pytest.raises(InputError) as caught:
        find_row(many, "means", "lossy=some loss")
    assert [" ".join(line.split()) for line in str(caught.value).splitlines()[1:4]] == [
        "distance far | near",
        "lossy some loss",
        "flows_count 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8",
    ]
    with pytest.raises(InputError, match="has no distance `middle` there; there are `far`, `near`, `–`"):
        find_row(summary, "means", "distance=middle")

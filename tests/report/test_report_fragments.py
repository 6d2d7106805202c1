import html
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from archives import ROOT, make_table
from report_inputs import NASTY, write_inputs

from ccreport.core.configuration import Sources, check_config
from ccreport.core.declarations import SCHEMAS, list_tables, load_yaml
from ccreport.core.settings.shown import list_unshown, select_shown
from ccreport.core.tables import conform, load_schema, read_table, write_table
from ccreport.core.text import make_label
from ccreport.figures.exhibits import Exhibit
from ccreport.figures.kit.theme import call_algorithms, style_of
from ccreport.measure.suspects.measure import RULES
from ccreport.report.archive_fragments.absence import mark_absence, sum_up
from ccreport.report.archive_fragments.archive_facts import (
    count_states,
    describe_archive,
    describe_overlooked,
    describe_pacing,
    render_measured,
    render_sessions,
    summarise_ledger,
)
from ccreport.report.archive_fragments.collection import render_collection
from ccreport.report.archive_fragments.failed_attempts import describe_bias
from ccreport.report.archive_fragments.ledger import LISTED_REJECTS, render_impossible, render_ledger, render_rejects
from ccreport.report.archive_fragments.other_records import count_others, render_others
from ccreport.report.archive_fragments.provenance import cite_archive, render_assumptions, render_provenance
from ccreport.report.archive_fragments.repetitions import describe_repetitions
from ccreport.report.archive_fragments.report_title import title_report
from ccreport.report.archive_fragments.suspects import render_suspect_rules, render_suspects, summarise_left_out
from ccreport.report.fragments.about import name_publication, render_about, render_groups, render_note
from ccreport.report.fragments.dictionary import render_dictionary
from ccreport.report.fragments.exhibits import render_figure_fragment
from ccreport.report.fragments.first_page.mean_findings import describe_bound
from ccreport.report.fragments.render import render_fragments
from ccreport.report.markup.blocks import Html, markdown, number, prose, render_table, render_tabs, render_varying, text
from ccreport.report.markup.escape import decode_harmless, escape_text, fence_html, show_text
from ccreport.trace.find_table import name_evaluation, name_folder
from ccreport.trace.uses import SCHEMA as USES

TIMES = pl.List(pl.Datetime("us", "UTC"))
NO_SESSIONS = make_table("sessions", [])
NO_OTHERS = pl.DataFrame(
    schema={"noun": pl.String, "things": pl.Int64, "algorithms": pl.List(pl.String), "times": TIMES}
)


@pytest.fixture
def inputs(tmp_path: Path) -> dict[str, Any]:
    return write_inputs(tmp_path)


def read_inputs(inputs: dict[str, Any]) -> dict[str, pl.DataFrame]:
    tables = ("raw_files", "rejects", "runs", "flows", "harness_results")
    return {table: read_table(table, sorted((inputs["tables"] / table).iterdir())) for table in tables}


def test_escape_leaves_no_letter_that_means_something():
    assert escape_text("a.b") == "a&#46;b"
    assert escape_text("{{< x >}}") == "&#123;&#123;&#60; x &#62;&#125;&#125;"
    assert escape_text("日本 é") == "日本 é"
    for name in NASTY:
        assert re.fullmatch(r"(?:[0-9A-Za-z ]|[^\x00-\x7f]|&#\d+;)*", escape_text(name))


def test_escape_keeps_spaces_that_markdown_drops():
    assert escape_text(" a  b ") == "&#32;a &#32;b&#32;"
    assert escape_text(" ") == "&#32;"


def test_a_finished_page_keeps_only_the_references_that_html_needs():
    text = "a.b-c <i class='x'>&amp; \"d\""
    assert decode_harmless(escape_text(text)) == ("a.b-c &#60;i class=&#39;x&#39;&#62;&#38;amp; &#34;d&#34;")
    # Of a second reading nothing becomes markup.
    assert decode_harmless("&#38;#60;") == "&#38;#60;"
    assert decode_harmless("&#10;&#955;") == "&#10;&#955;"


def test_control_characters_and_marks_show_as_escapes():
    # A right-to-left override would let a name look like another one.
    assert show_text("a\nb\x00\u202ec\ud800") == r"a\nb\x00\u202ec\ud800"
    assert escape_text("a\nb") == "a&#92;nb"


def test_labels_have_no_underscores():
    assert make_label("tbl", "Table_2 testbed") == "tbl-table-2-testbed"


def test_raw_html_cannot_end_its_own_fence_and_holds_no_shortcode():
    fenced = fence_html("<pre>\n````\n</pre> {{< include x >}}")
    assert fenced.startswith("`````{=html}\n")
    assert fenced.endswith("\n`````\n")
    assert "{{<" not in fenced


def test_cells_show_none_as_a_dash_and_zero_as_zero():
    assert "–" in text(None)
    assert "–" in number(None)
    assert number(0) == "0"
    assert number(12345) == "12,345"


def test_backticks_of_our_own_sentences_become_code():
    assert prose("ss `rtt`") == "ss&#32;<code>rtt</code>"
    assert markdown("ss `rtt_ms`") == "ss&#32;`rtt_ms`"


def test_columns_that_never_change_are_said_once() -> None:
    rows = [[text(job), text("h1"), number(0), number(count)] for job, count in (("a", 1), ("b", 2), ("c", 1))]
    header = ("Job", "Host", "Cut", "Packets")
    total = [text("All"), Html(""), number(0), number(4)]
    shown = render_varying(header, rows, title="t", numbers=(2, 3), total=total)
    assert '<p class="shared">All rows: Host: h1; Cut: 0.</p>' in shown
    assert re.findall(r"<th scope[^>]*>([^<]*)", shown) == ["Job", "Packets"]
    assert '<tr><td>a</td><td class="number">1</td></tr>' in shown
    assert '<tfoot><tr><td>All</td><td class="number">4</td></tr></tfoot>' in shown
    # Two rows may be alike by chance, and a total that is another number is kept with its column.
    assert "shared" not in render_varying(header, rows[:2], title="t", total=total)
    assert "Cut</th>" in render_varying(header, rows, title="t", total=[*total[:2], number(3), total[3]])


def test_what_the_rows_of_a_cut_table_share_is_said_of_them_alone() -> None:
    rows = [[text("a"), number(n)] for n in (1, 2, 3)]
    shown = render_varying(("Job", "Packets"), rows, title="t", is_cut=True)
    assert '<p class="shared">The rows below: Job: a.</p>' in shown


def test_a_table_of_text_has_the_heading_in_each_cell() -> None:
    shown = render_table(("Claim", "Here"), [[text("a"), number(1)]], title="t", numbers=(1,), is_text=True)
    assert '<td data-head="Claim">a</td><td data-head="Here" class="number">1</td>' in shown
    assert "data-head" not in render_table(("Claim",), [[text("a")]], title="t")


def test_a_single_tab_is_no_tabset():
    assert render_tabs([("One", "body\n")]) == "body\n"
    assert ".panel-tabset" in render_tabs([("One", "a\n"), ("Two", "b\n")])


def test_archive_facts(inputs: dict[str, Any]):
    frames = read_inputs(inputs)
    facts = describe_archive(frames["raw_files"], frames["runs"], frames["flows"], frames["harness_results"], NO_OTHERS)
    # 4 runs x 3 files + 12 rejects, of 1500 bytes each; runs at 10, 20, 40 and 80.5 ms, each to a host of its own.
    assert facts["files"] == "24 files"
    assert facts["size"] == "36 kB"
    assert facts["sessions"] == "1 session"
    assert facts["jobs"] == "1 job"
    assert facts["runs"] == "4 runs"
    assert facts["interrupted"] == "1 interrupted run"
    assert facts["flows"] == "3 flows"
    assert facts["results"] == "no result rows"
    assert facts["hosts"] == "4 destinations"
    assert facts["rtt"] == "10 to 80&#46;5 ms"
    assert facts["durations"] == facts["kernels"] == facts["losses"] == "unknown"
    assert facts["interfaces"] == facts["bottlenecks"] == "unknown"
    paths = frames["runs"].with_columns(
        bottleneck_bps=pl.Series([1e8, None, None, None]), nic_bps=2.5e9, loss_pct=pl.Series([0.0, 0.1, None, 0.01])
    )
    set_up = describe_archive(frames["raw_files"], paths, frames["flows"], frames["harness_results"], NO_OTHERS)
    said = html.unescape(render_measured(set_up, has_runs=True))
    assert " Sender interfaces: 2.5 Gbit/s. Bottlenecks: 100 Mbit/s. Random loss: 0 to 0.1 %. Congestion" in said
    assert "Tests take" not in render_measured(facts, has_runs=True)
    known = facts | {"durations": "4 to 120 s", "kernels": "6&#46;1"}
    assert "Tests take 4 to 120 s. Kernel of the sender: 6&#46;1." in render_measured(known, has_runs=True)
    assert facts["dates"] == "2026&#45;11&#45;20 to 2026&#45;11&#45;21"
    assert facts["algorithms"] == "bbr&#44; cubic"


def test_how_flows_were_paced_and_how_often_cells_repeat_is_said(inputs: dict[str, Any], tmp_path: Path):
    frames = read_inputs(inputs)
    paced = frames["runs"].with_columns(pacing_bps=pl.Series([2.4e9, 9.9e9, 9.9e9, None]))
    facts = describe_archive(frames["raw_files"], paced, frames["flows"], frames["harness_results"], NO_OTHERS)
    name = "table_1_buffer_size"
    cells = pl.DataFrame({"runs_count": [5, 3, 6, 5], "buffer_bytes": [1, 2, 3, 4]}).with_columns(
        sharing=pl.lit("both"), algorithm=pl.lit("BBR"), rate_basis=pl.lit("goodput"), rate_mean_bps=1e9, flows_count=1
    )
    conform(cells, name).write_parquet(tmp_path / f"{name}.parquet")
    declared = {"reproduction": {name: {}}, "tables": {name: {"title": "Table V: rates"}}}
    repeated = describe_repetitions(declared, tmp_path)
    said = html.unescape(render_measured(facts, repeated, has_runs=True))
    assert "Flows were paced to 9.9 Gbit/s (2 runs) and 2.4 Gbit/s (1 run)." in said
    assert " Repetitions: a cell of Table V is of 5 runs (median; 3 to 6). " in said
    assert describe_repetitions({"reproduction": {}, "tables": {}}, tmp_path) == ""
    many = paced.with_columns(pacing_bps=pl.Series([1e9, 2e9, 3e9, 4e9]))
    assert describe_pacing(pl.concat([many, many.with_columns(pl.col("pacing_bps") * 7)])) == "1 to 28 Gbit/s each"
    slower = pl.concat([many, many.with_columns(pl.col("pacing_bps") / 50)])
    assert describe_pacing(slower) == "20 Mbit/s to 4 Gbit/s each"


def test_declared_and_measured_rtts_are_told_apart_and_what_nothing_says(inputs: dict[str, Any]):
    frames = read_inputs(inputs)
    runs = frames["runs"].with_columns(
        rtt_source=pl.when(pl.col("rtt_ms") < 40).then(pl.lit("nominal")).otherwise(None)
    )
    tables = (frames["raw_files"], runs, frames["flows"], frames["harness_results"], NO_OTHERS)
    facts = describe_archive(*tables)
    assert html.unescape(facts["rtts"]) == (
        "round-trip times of 10 to 20 ms (declared) or 40 to 80.5 ms (2 runs have no declared RTT; theirs was measured)"
    )
    # Nine tenths of 20 ms are 18; where stages change the path, nothing is said.
    near = runs.filter(rtt_source="nominal").with_columns(rtt_nominal_ms=20.0, rtt_min_ms=12.34, stages_json=None)
    count = near.height
    facts = describe_archive(tables[0], near, *tables[2:])
    said = html.unescape(render_measured(facts, has_runs=True))
    assert (
        f" RTTs contradict each other: declared 20 ms, smallest measured 12.3 ms ({count} of {count} runs). Is the "
        "number or its unit wrong, or was the delay not set on the path that the runs took? "
    ) in said
    for changed in ({"rtt_min_ms": 18.0}, {"stages_json": "[]"}, {"rtt_source": "measured"}):
        other = near.with_columns(**{name: pl.lit(value) for name, value in changed.items()})
        assert describe_archive(tables[0], other, *tables[2:])["doubtful"] == ""
    # As captions have it.
    measured = describe_archive(
        tables[0], runs.head(1).with_columns(rtt_source=pl.lit("ss"), rtt_ms=13.704), *tables[2:]
    )
    assert (measured["rtt"], measured["rtts"]) == ("14 ms", "a round&#45;trip time of 14 ms &#40;measured&#41;")
    own = runs.head(1).with_columns(rtt_source=None, rtt_nominal_ms=None, loss_pct=None, is_interrupted=False)
    result = frames["raw_files"].head(1)
    said = html.unescape(render_measured(describe_archive(result, own, *tables[2:]), has_runs=True))
    assert "The archive holds 1 file (1.5 kB) of 1 session with 1 job. It records 1 run with 3 flows. It was" in said
    assert "at a round-trip time of 10 ms (measured)." in said
    assert "Nothing says which RTT or which loss the path was set to." in said
    assert "nothing was recorded by ss, mpstat, tcpdump." in said


def test_a_group_of_versions_says_which_of_them_it_is():
    groups = {"BBR": {"members": ["bbr2", "bbr"]}, "CUBIC": {"members": ["cubic"]}}
    assert render_groups(pl.Series(["bbr", "bbr2", "cubic"]), groups) == (
        "In tables and comparisons BBR means BBRv2 (the kernel’s `bbr2`); BBR has the kernel’s name there, "
        "`bbr`. Figures call each version by its own name.\n"
    )
    assert "BBR means BBRv2 (the kernel’s `bbr2`). Figures" in render_groups(pl.Series(["bbr2"]), groups)
    # Figures call it so, too.
    assert render_groups(pl.Series(["bbr", "cubic"]), groups) == ""
    with call_algorithms({"bbr": "BBRv1"}):
        assert "BBR means BBRv1 (the kernel’s `bbr`)." in render_groups(pl.Series(["bbr", "cubic"]), groups)
        # No group is called so.
        groups = {"BBR": {"members": ["bbr2", "bbr"]}}
        said = render_groups(pl.Series(["bbr", "bbr2"]), groups)
        assert "; BBRv1 has its own name there, and in CSV files the kernel’s, `bbr`. Figures" in said
    assert style_of("bbr").name == "BBR"


def test_a_layout_is_counted_as_what_it_is(inputs: dict[str, Any]):
    frames = read_inputs(inputs)
    files = frames["raw_files"].head(2)
    layout = files.head(1).with_columns(kind=pl.lit("layout"), state=pl.lit("ignored"))
    with_layout = pl.concat([files.with_columns(state=pl.lit("ingested")), layout])
    none = frames["rejects"].clear()
    assert summarise_ledger(with_layout, none).startswith("Of 3 files, 2 are ingested, 1 read as the layout, none rej")
    ledger = render_ledger(with_layout, none, 3)
    assert "2 ingested + 1 ignored + 0 rejected = 3 files" in ledger
    assert "One of those ignored is the archive's layout, read before all others." in ledger
    with_table = pl.concat([with_layout, layout])
    assert summarise_ledger(with_table, none).startswith("Of 4 files, 2 are ingested, 2 read as the layout, none rej")
    ledger = render_ledger(with_table, none, 4)
    assert "2 of those ignored are the archive's layout and its table, read before all others." in ledger
    facts = describe_archive(with_layout, frames["runs"], frames["flows"], frames["harness_results"], NO_OTHERS)
    assert facts["files"] == "3 files"


def make_uses(**numbers: str) -> pl.DataFrame:
    """Return what runs are for: a table of the publication by the run."""
    return pl.DataFrame([(run, "Table", number) for run, number in numbers.items()], schema=USES, orient="row")


def test_an_archive_without_runs_has_facts_too(inputs: dict[str, Any]):
    frames = read_inputs(inputs)
    facts = describe_archive(
        *(frames[table].clear() for table in ("raw_files", "runs", "flows", "harness_results")), NO_OTHERS
    )
    assert facts["runs"] == "no runs"
    assert facts["size"] == "0 B"
    assert facts["rtt"] == facts["dates"] == facts["algorithms"] == "unknown"
    assert render_sessions(frames["runs"].clear(), frames["flows"].clear(), make_uses(), NO_SESSIONS) == ""


def test_sessions_count_their_own_runs_and_flows(inputs: dict[str, Any]):
    frames = read_inputs(inputs)
    rows = re.findall(
        r"<tr><td>.*", render_sessions(frames["runs"], frames["flows"], make_uses(run0="II"), NO_SESSIONS)
    )
    # Runs 0 to 2 are of the first session, each with a job, a host and a flow of its own; run 3 has no flow.
    assert [re.findall(r'number">(\d+)<', row) for row in rows] == [["3", "3", "3", "3"], ["1", "1", "0", "1"]]
    assert "10 to 40" in rows[0]
    assert "80&#46;5" in rows[1]
    assert [row.endswith("<td>Table II</td></tr>") for row in rows] == [True, False]
    # The column is left out where no session is used.
    page = render_sessions(frames["runs"], frames["flows"], make_uses(), NO_SESSIONS)
    assert ">For<" not in page
    assert "what its runs are for" not in page


def test_the_first_test_of_a_session_in_virtual_time_is_by_its_clock(inputs: dict[str, Any]):
    frames = read_inputs(inputs)
    session = frames["runs"]["session"].drop_nulls()[0]
    for clock in ("virtual", "real"):
        sessions = make_table("sessions", [{"session": session, "clock": clock}])
        page = render_sessions(frames["runs"], frames["flows"], make_uses(), sessions)
        assert ("those of the virtual clock" in page) == (clock == "virtual")


def test_a_generic_report_of_one_campaign_has_its_title() -> None:
    sessions = make_table("sessions", [{"session": name, "title": "Two queues"} for name in "ab"])
    runs = make_table("runs", [{"run_id": f"r{name}", "session": name} for name in "ab"])
    assert title_report("generic", "Measurements", sessions, runs) == "Two queues"
    assert title_report("esnet-dtn", "Measurements", sessions, runs) == "Measurements"
    # Runs of another campaign, or that nobody collected, are not of this one.
    two = make_table("sessions", [{"session": name, "title": name} for name in "ab"])
    of_both = [(two, runs), (sessions.filter(session="a"), runs), (sessions.clear(), runs)]
    assert [title_report("generic", "Measurements", *tables) for tables in of_both] == ["Measurements"] * 3


def test_the_ledger_closes_where_the_states_sum_to_the_files_on_disk(inputs: dict[str, Any]):
    frames = read_inputs(inputs)
    assert count_states(frames["raw_files"]) == {"ingested": 8, "ignored": 4, "rejected": 12}
    ledger = render_ledger(frames["raw_files"], frames["rejects"], 24)
    assert "callout-tip" in ledger
    assert "8 ingested + 4 ignored + 12 rejected = 24 files" in ledger
    assert "of files left out" not in summarise_ledger(frames["raw_files"], frames["rejects"])
    # Three parts of files that are used otherwise are not files that are rejected.
    parts = frames["rejects"].head(3).with_columns(is_whole_file=False, raw_file_id=pl.lit("used"))
    rejects = pl.concat([frames["rejects"], parts])
    said = summarise_ledger(frames["raw_files"], rejects)
    assert said.endswith("12 rejected ([ledger](ledger.qmd)). 3 parts of files left out.\n")
    has_all = "has a row for each of the 12 rejected and of the 3 parts of files left out."
    assert has_all in render_ledger(frames["raw_files"], rejects, 24)
    # Of metadata that were never there, nothing is left out.
    absent = parts.with_columns(reason=pl.lit("no_metadata"))
    assert "left out" not in summarise_ledger(frames["raw_files"], pl.concat([frames["rejects"], absent]))
    # By kind: src-cmd has the 12 rejects, ss the rest.
    assert '<code>ss</code></td><td class="number">8</td><td class="number">4</td><td class="number">0</td>' in ledger
    assert '<code>copy of a raw file</code></td><td><code>ss</code></td><td class="number">4</td>' in ledger


def test_the_ledger_says_where_it_does_not_close(inputs: dict[str, Any]):
    frames = read_inputs(inputs)
    missing = render_ledger(frames["raw_files"], frames["rejects"], 25)
    assert "callout-important" in missing
    assert "= 24, but the archive has 25 files on disk" in missing
    unexplained = render_ledger(frames["raw_files"], frames["rejects"].head(11), 24)
    assert "12 files are rejected, but 11 of them have a reason" in unexplained


def test_what_looks_like_a_measurement_and_was_not_read_is_counted_apart(inputs: dict[str, Any]):
    frames = read_inputs(inputs)
    files = frames["raw_files"]
    assert describe_overlooked(files) == ""
    assert "not read" not in render_ledger(files, frames["rejects"], 24)
    is_ignored = pl.col("state") == "ignored"
    overlooked = files.with_columns(
        rule=pl.when(is_ignored).then(pl.lit("measurements_not_read")).otherwise("rule"),
        format=pl.when(is_ignored).then(pl.lit("iperf3-text")).otherwise("format"),
    )
    assert describe_overlooked(overlooked) == "4 files look like measurements and were not read"
    ledger = render_ledger(overlooked, frames["rejects"], 24)
    assert "4 files look like measurements and were not read" in ledger
    assert "4 of iperf3's text output: run it with `-J`" in ledger


def test_flows_without_a_ratio_are_noted(inputs: dict[str, Any]):
    flows = read_inputs(inputs)["flows"]
    assert render_impossible(flows) == ""
    counts = pl.DataFrame({"retransmits_count": [3, 2, None], "segments_count": [2.0, 2.0, None]})
    noted = render_impossible(flows.head(3).drop("retransmits_count", "segments_count").hstack(counts))
    assert "1 flow counts more segments as retransmitted than as sent" in noted


def test_rejects_are_counted_by_reason_and_listed(inputs: dict[str, Any]):
    rejects = read_inputs(inputs)["rejects"]
    partly = rejects.with_columns(is_whole_file=pl.col("raw_file_id") != "reject3")
    shown = render_rejects(partly)
    assert '<td class="number">11</td><td class="number">1</td>' in shown
    assert shown.count("<code>truncated&#95;json</code>") == 1 + 12
    assert "line 2<" in shown
    assert "byte 1&#44;000<" in shown
    assert render_rejects(rejects.clear()).startswith("Nothing was rejected")


def test_a_long_list_of_rejects_says_what_it_leaves_out(inputs: dict[str, Any]):
    rejects = read_inputs(inputs)["rejects"]
    many = pl.concat([rejects.head(1)] * (LISTED_REJECTS + 3))
    shown = render_rejects(many)
    assert "The first 500 of 503; the table `rejects` has all." in shown
    assert shown.count("<td>all</td>") == 500


def test_the_dictionary_has_every_column_of_every_table():
    sections = re.split(r"^## ", render_dictionary(), flags=re.MULTILINE)[1:]
    assert [section.split()[0] for section in sections] == list_tables()
    for section, table in zip(sections, list_tables(), strict=True):
        schema = load_schema(table)
        columns = re.findall(r"^<tr><td>(?:<strong>)?<code>(.*?)</code>", section, flags=re.MULTILINE)
        assert columns == [escape_text(column.name) for column in schema.columns]
        assert section.count("<strong>") == len(schema.key)


def test_the_dictionary_shows_bounds_and_choices():
    section = render_dictionary().split("## rejects")[1]
    row = next(line for line in section.split("\n") if "byte&#95;offset" in line)
    assert "<td>int</td><td>B</td><td>yes</td><td>≥ 0</td>" in row
    assert "<code>empty</code>, <code>unreadable</code>" in section


def test_assumptions_are_found_with_their_place(tmp_path: Path):
    code = tmp_path / "package"
    code.mkdir()
    (code / "one.py").write_text(
        "import os\n\n# ASSUME: a clock\n# does not stop.\nLIMIT = 1\n    # ASSUME: `x` is small.\n    y = 1  # no\n",
        encoding="utf-8",
    )
    (code / "two.sql").write_text("-- ASSUME: rows are runs.\nSELECT 1\n", encoding="utf-8")
    shown = render_assumptions(code)
    assert "<td>a clock does not stop&#46;</td><td><code>package&#47;one&#46;py&#58;3</code>" in shown
    assert "<code>x</code>&#32;is small&#46;</td><td><code>package&#47;one&#46;py&#58;6</code>" in shown
    assert "rows are runs&#46;</td><td><code>package&#47;two&#46;sql&#58;1</code>" in shown
    assert shown.count("<tr><td>") == 3


def test_provenance_names_no_path_of_this_machine(tmp_path: Path, inputs: dict[str, Any]):
    facts = json.loads(inputs["archive"].read_text(encoding="utf-8"))
    shown = render_provenance(facts, inputs["config"], inputs["evaluation"])
    assert "somebody" not in shown
    assert str(tmp_path) not in shown
    assert escape_text("archive: sample.tar.zst") in shown
    assert "ab" * 32 in shown
    assert escape_text("# What the report shows.") in shown
    for software in ("Python", "snakemake", "polars", "pyarrow", "duckdb", "altair", "pandoc"):
        assert f"<td>{software}</td>" in shown


def test_provenance_shows_every_key_of_the_configuration_or_names_it_as_left_out(inputs: dict[str, Any]):
    config: dict[str, Any] = {}
    check_config(config, Sources({}, []))
    config |= {"strict": True, "release": config["release"] | {"license": "CC-BY-4.0", "date": "2026-05-01"}}
    shown = select_shown(config)
    page = html.unescape(render_provenance({}, json.dumps(shown), inputs["evaluation"]))
    for line in ("strict: true", "  license: CC-BY-4.0", "  date: '2026-05-01'", "  description: null"):
        assert f"{line}\n" in page
    schema = load_yaml(SCHEMAS / "config.schema.yaml")["properties"]
    keys = {*schema, *(f"release.{key}" for key in schema["release"]["properties"])}
    assert keys - {*shown, *(f"release.{key}" for key in shown["release"])} == {*list_unshown()}
    assert f": {', '.join(f'`{key}`' for key in list_unshown())}.\n" in page


@pytest.mark.parametrize(("declared", "used"), [("auto", "embedded"), ("quarto", "quarto")])
def test_provenance_names_the_renderer_that_was_used(declared: str, used: str, inputs: dict[str, Any]):
    config = json.dumps({"report": {"renderer": declared}})
    assert escape_text(f"renderer: {used}") in render_provenance({}, config, inputs["evaluation"])


def test_exhibits_stand_in_the_order_of_the_evaluation(tmp_path: Path, inputs: dict[str, Any]):
    fragments = tmp_path / "fragments"
    render_fragments(**inputs, fragments=fragments)
    tables = (fragments / "tables.md").read_text(encoding="utf-8")
    assert re.findall(r"include fragments/(\w+).md", tables) == ["table_table_2_testbed", "table_table_of_ours"]
    figure = (fragments / "figure_plot_one.md").read_text(encoding="utf-8")
    assert "{#fig-plot-one fig-alt=" in figure
    assert "](figures/plot_one/untitled.svg)" in figure
    assert "no run at 40 ms" in (fragments / "figure_plot_none.md").read_text(encoding="utf-8")
    published = (fragments / "table_table_2_testbed.md").read_text(encoding="utf-8")
    assert "::: {#tbl-table-2-testbed number=II}" in published
    assert "### Query" in published


def test_what_is_known_of_the_archive_is_kept_apart_from_the_notes_of_pages(
    tmp_path: Path, inputs: dict[str, Any]
) -> None:
    evaluation = Path(inputs["evaluation"])
    with evaluation.open("a", encoding="utf-8") as declared:
        declared.write("\nnotes: {claims: Of claims, figures: Of figures, tables: Of tables}\n")
    sha256 = json.loads(inputs["archive"].read_text(encoding="utf-8"))["sha256"]
    own = {evaluation.stem: {"reproduction": {"note": "Of the archive."}}}
    (tmp_path / "own.yaml").write_text(json.dumps({"archive_sha256": sha256, "evaluations": own}), encoding="utf-8")
    render_fragments(**inputs | {"explanations": [tmp_path / "own.yaml"]}, fragments=tmp_path / "fragments")
    notes = {name: (tmp_path / f"fragments/{name}.md").read_text() for name in ("about_archive", "notes_tables")}
    assert "Of the archive" in notes["about_archive"]
    assert "Of tables" in notes["notes_tables"]


@pytest.mark.parametrize(("printed", "missing_in"), [("plot_none", "report"), ("plot_one", "supplement")])
def test_a_figure_without_data_is_named_in_the_document_that_it_would_be_in(
    printed: str, missing_in: str, tmp_path: Path, inputs: dict[str, Any]
):
    evaluation = Path(inputs["evaluation"])
    with evaluation.open("a", encoding="utf-8") as declared:
        declared.write(f"\nprinted: {{figures: [{printed}]}}\n")
    render_fragments(**inputs, fragments=tmp_path / "fragments")
    lists = {name: (tmp_path / f"fragments/figures_{name}.md").read_text() for name in ("report", "supplement")}
    assert [name for name, text in lists.items() if "{#figure-plot-none}" in text] == [missing_in]
    assert [name for name, text in lists.items() if "{#figure-plot-one .unnumbered}" in text] == [
        "report" if printed == "plot_one" else "supplement"
    ]


def test_variables_are_text(tmp_path: Path, inputs: dict[str, Any]):
    render_fragments(**inputs, fragments=tmp_path / "fragments")
    variables = load_yaml(tmp_path / "fragments" / "_variables.yml")
    assert all(isinstance(value, str) for group in variables.values() for value in group.values())
    # The archive is one file: it has no parts to be linked.
    assert variables["archive"]["parts"] == ""
    facts = {"name": "a", "sha256": "b", "parts": [{"name": "p", "sha256": "c"}]}
    assert cite_archive({}, facts)["parts"] == " ([its parts](provenance.qmd#archive))"


def test_pages_say_the_margin_that_the_evaluation_declares(tmp_path: Path, inputs: dict[str, Any]):
    evaluation = inputs["evaluation"]
    evaluation.write_text(evaluation.read_text(encoding="utf-8") + "\nequal_within_pct: 15\n", encoding="utf-8")
    render_fragments(**inputs, fragments=tmp_path / "fragments")
    said = load_yaml(tmp_path / "fragments" / "_variables.yml")["evaluation"]["margin"]
    assert html.unescape(said) == "15 %"
    for page in ("reproduction", "methods"):
        text_of_page = (ROOT / f"reports/{page}.qmd").read_text(encoding="utf-8")
        rules = text_of_page.partition("1. *Reproduced*")[2].partition("4. *Undecided*")[0]
        assert rules.count("{{< var evaluation.margin >}}") == 4
        assert not re.search(r"\d %", rules)


def test_the_same_input_gives_the_same_bytes_and_no_old_fragment_stays(tmp_path: Path, inputs: dict[str, Any]):
    def render() -> dict[str, bytes]:
        render_fragments(**inputs, fragments=tmp_path / "fragments")
        files = sorted(path for path in (tmp_path / "fragments").rglob("*") if path.is_file())
        return {str(path.relative_to(tmp_path)): path.read_bytes() for path in files}

    first = render()
    (tmp_path / "fragments" / "table_gone.md").write_text("old", encoding="utf-8")
    assert render() == first


# What there is beside runs


def test_connections_answers_and_snapshots_are_counted(tmp_path: Path):
    day, later = (datetime(2026, 11, 20, hour, tzinfo=UTC) for hour in (1, 2))
    shown = {"raw_file_id": "f", "machine": "m1", "cc": "bbr", "time_utc": day, "connection_number": 0}
    # Two dumps show one connection, which the later one counts; another connection is of another machine.
    connections = [
        shown | {"is_last": False},
        shown | {"is_last": True, "time_utc": later},
        shown | {"is_last": True, "machine": "m2", "connection_number": 1},
    ]
    # Two counters of one snapshot.
    counters = [
        {"raw_file_id": "f", "snapshot_number": 0, "counter": name, "machine": "m1", "time_utc": day} for name in "ab"
    ]
    given = {"connections": connections, "machine_counters": counters, "web_requests": [], "rpc_tests": []}
    for table, rows in given.items():
        write_table(make_table(table, rows), table, tmp_path / table / "e.parquet")
    others = count_others(tmp_path, ["e"])
    assert others.select("noun", "things", "machines").rows() == [("connection", 2, 2), ("snapshot", 1, 1)]
    tables = ("raw_files", "runs", "flows", "harness_results")
    facts = describe_archive(*(pl.DataFrame(schema=load_schema(table).polars) for table in tables), others)
    assert (facts["most"], facts["algorithms"]) == ("2 connections", "bbr")
    assert facts["measured"] == "2 connections&#44; 1 snapshot"
    assert facts["dates"] == "2026&#45;11&#45;20"
    assert "no files (0 B): 2 connections" in render_measured(facts, has_runs=False)
    assert 'number">2</td><td class="number">2</td>' in render_others(others)


def test_suspect_runs_are_counted_by_rule_and_lead_to_the_explorer() -> None:
    runs = make_table("runs", [{"run_id": f"r{n}", "job": NASTY[0]} for n in range(3)])
    found = [("r1", "sample_gap", 2.5, 1.0, "s"), ("r1", "rate_below_siblings", 80e6, 90e6, "bit/s")]
    columns = ("run_id", "suspect_rule", "observed", "bound", "bound_unit")
    suspects = make_table("suspects", [dict(zip(columns, row, strict=True)) for row in found])
    failed = {"attempt_outcome": "failed", "attempt_message": "client 1 did not end"}
    attempts = make_table("attempts", [{"run_id": run, "line_number": 1} | failed for run in ("r0", "r1", "r1")])
    page = render_suspects(suspects, runs, attempts, make_uses(r1="II"))
    assert page.startswith("1 of the 3 runs is suspect.")
    assert page.count('href="explorer.html#run=r1"') == 2
    for shown in ("80 Mbit/s", "90 Mbit/s", "2.5 s", "1 s"):
        assert escape_text(shown) in page
    assert page.count("<td>client 1 did not end</td><td>Table II</td>") == 2
    assert "interrupted ones" not in page
    repeated = suspects.with_columns(suspect_rule=pl.lit("attempt_repeated"))
    assert "interrupted ones, which [all attempts](collection.qmd#tries) have too, do not count." in render_suspects(
        repeated, runs, attempts, make_uses()
    )
    assert NASTY[0] not in page
    assert render_suspects(make_table("suspects", []), runs, attempts, make_uses()) == "No run is suspect.\n"


def test_suspect_runs_are_named_in_few_words() -> None:
    facts = {"job": "bbr2_p16", "rtt_nominal_ms": 80.0}
    iterations = {"r0": ("monday", 1), "r1": ("tuesday", 1), "r2": ("monday", 2)}
    runs = make_table(
        "runs", [{"run_id": run, "session": day, "iteration": n} | facts for run, (day, n) in iterations.items()]
    )
    suspects = make_table("suspects", [{"run_id": run, "suspect_rule": "sample_gap"} for run in iterations])
    page = html.unescape(render_suspects(suspects, runs, make_table("attempts", []), make_uses()))
    shown = [re.sub(r"<[^>]+>", "", link) for link in re.findall(r'<a href="explorer.html#run=.*?</a>', page)]
    # The session tells two apart that would be the same.
    assert shown == ["monday, bbr2_p16, 80 ms, it. 1", "bbr2_p16, 80 ms, it. 2", "tuesday, bbr2_p16, 80 ms, it. 1"]
    assert 'title="r2"' in page
    assert ">Job<" not in page


def test_runs_that_were_made_again_are_compared_with_others_of_their_conditions() -> None:
    rates = {"r0": 90e6, "r1": 110e6, "r2": 100e6, "r3": 102e6, "r4": 5e6, "r6": 101e6, "r7": 95e6, "r8": 99e6}
    hosts = {"r4": "h2"}
    runs = make_table(
        "runs", [{"run_id": run, "host": hosts.get(run, "h"), "goodput_bps": rate} for run, rate in rates.items()]
    )
    tries = [
        *(("r0", 1, "failed", "a"), ("r0", 2, "interrupted", "a/2"), ("r0", 3, "completed", "a/2")),
        *(("r1", 1, "interrupted", "b"), ("r1", 2, "completed", "b"), ("r2", 1, "completed", "c")),
        *(("r4", 1, "failed", "d"), ("r4", 2, "completed", "d"), ("r5", 1, "failed", "e")),
        *(("r7", 1, "failed", "f"), ("r7", 2, "completed", "f"), ("r8", 1, "failed", "g"), ("r8", 2, "completed", "g")),
    ]
    columns = ("run_id", "attempt_number", "attempt_outcome", "seed")
    shared = {"job": NASTY[0], "line_number": 1}
    attempts = make_table("attempts", [shared | dict(zip(columns, row, strict=True)) for row in tries])
    suspects = make_table("suspects", [{"run_id": "r0"}])
    said = html.unescape(describe_bias(attempts, runs, suspects))
    # The others have 100, 101 and 102 Mbit/s, so 101 in the median: 90 / 101 and 99 / 101. No other run is to host h2,
    # and of one run that was interrupted nothing is said.
    assert said == (
        "6 runs needed more than one attempt; 5 completed, and the means lack the other 1. "
        "4 followed a failed attempt (1 suspect, 1 with another seed); the rates of 3 of them (0.891 to 0.980 times "
        "the median of other runs of the same conditions) are not within the spread of the others (0.990 to 1.01). "
        "1 followed interruptions only."
    )
    assert describe_bias(attempts.filter(run_id="r2"), runs, suspects) == ""
    # Between the slowest and the fastest of the others the rates stand out by nothing.
    alike = pl.col("run_id").is_in(["r0", "r7", "r8"])
    near = runs.with_columns(goodput_bps=pl.when(alike).then(101e6).otherwise("goodput_bps"))
    said = describe_bias(attempts.filter(alike), near, suspects)
    # Of 100, 101, 102 and 110 Mbit/s the median is 101.5.
    assert said.endswith(
        "; their rates (0.995 times the median of other runs of the same conditions) are within the "
        "spread of the others (0.985 to 1.08)."
    )
    # Two others have no spread: of 100 and 102 Mbit/s the median is 101. One other is nothing to compare with.
    few = runs.filter(~pl.col("run_id").is_in(["r1", "r6"]))
    said = describe_bias(attempts.filter(alike), few, suspects)
    assert said.endswith("; their rates are 0.891 to 0.980 times the median of other runs of the same conditions.")
    said = describe_bias(attempts.filter(alike), few.filter(pl.col("run_id") != "r3"), suspects)
    assert said.endswith(" 3 followed a failed attempt (1 suspect, 1 with another seed).")


def test_where_no_processor_was_sampled_it_is_not_known_that_no_run_was_cpu_bound() -> None:
    attempts = make_table(
        "attempts", [{"run_id": "r", "session": "s", "line_number": 1, "attempt_outcome": "completed"}]
    )
    nothing = [make_table(name, []) for name in ("sessions", "calibrations")]
    for is_bound, shown in ((None, "–"), (False, "0")):
        runs = make_table("runs", [{"run_id": "r", "session": "s", "is_cpu_bound": is_bound}])
        page = render_collection(*nothing, attempts, runs)
        row = re.findall(r"<td[^>]*>(.*?)</td>", page[page.index("<code>s</code>") :])
        assert [re.sub("<[^>]+>", "", cell) for cell in row[:4]] == ["1", "1", "1", shown]


def test_the_first_page_names_what_was_left_out_and_why() -> None:
    runs = make_table("runs", [{"run_id": f"r{n}", "is_interrupted": n == 0, "is_cpu_bound": n < 2} for n in range(4)])
    runs = runs.with_columns(
        is_counted=pl.Series([False, False, True, False]), throughput_bps=pl.Series([1.0] * 3 + [None])
    )
    broken = {"suspect_rule": "sample_gap", "observed": 2.5, "bound": 1.0, "bound_unit": "s"}
    suspects = make_table("suspects", [{"run_id": f"r{n}"} | broken for n in (0, 2)])
    outcomes = ("completed", "failed", "interrupted", "failed")
    attempts = make_table(
        "attempts",
        [{"run_id": f"r{n}", "attempt_outcome": outcome, "line_number": 1} for n, outcome in enumerate(outcomes)],
    )
    marked = mark_absence(runs, suspects, [], {"include_cpu_bound": False})
    said = summarise_left_out(suspects, marked, attempts, make_uses(r1="II", r2="III"))
    fate = "3 runs needed more than one attempt; 0 completed, and the means lack the other 3."
    rule = next(rule.definition.removesuffix(".") for rule in RULES if rule.name == "sample_gap")
    assert html.unescape(said).splitlines() == [
        # The run that was interrupted and is suspect is counted once.
        "- 4 runs = 0 in the means + 1 CPU-bound + 1 interrupted + 1 without a rate + 1 suspect.",
        f"- [Why runs are suspect](ledger.qmd#suspects): {rule} (2). 1 of them was measured for Table III.",
        f"- 3 of 4 attempts (2 failed and 1 interrupted) gave no run ([which](collection.qmd#tries)). {fate}",
    ]
    config = {"include_suspect": True, "include_interrupted": True}
    marked = mark_absence(runs, suspects, [], config)
    sums, said = summarise_left_out(suspects, marked, attempts.clear(), make_uses(r1="III")).splitlines()
    assert sums.startswith("- 4 runs = 1 in the means (1 of them suspect) + 1 CPU-bound")
    assert said.endswith(" (2). No numbered table or figure lacks them.")
    rpcs = runs.with_columns(flows_count=pl.Series([None, None, None, 0], dtype=pl.Int64))
    (sums,) = sum_up(mark_absence(rpcs, suspects, [], config), suspects)
    assert " + 1 without a bulk transfer (RPCs, or a test that failed)" in sums
    counted = mark_absence(runs.filter("is_counted"), suspects.clear(), [], {})
    assert summarise_left_out(suspects.clear(), counted, attempts.clear(), make_uses()) == ""


def test_the_first_page_tells_runs_that_count_and_have_no_rate_for_any_table_from_those_in_means() -> None:
    counted = {"is_counted": True, "cpu_bound_ratio": 0.5}
    facts = [counted | {"is_interrupted": n < 2, "is_cpu_bound": n % 2 == 0} for n in range(5)]
    runs = make_table("runs", [own | {"run_id": f"r{n}"} for n, own in enumerate(facts)])
    none = make_table("suspects", [])
    marked = mark_absence(runs, none, ["r0", "r1", "r2"], {"include_interrupted": True})
    lacking = "2 interrupted, without a receiver's rate + 1 without a receiver's rate"
    note = "Tables take the receiver's rate; figures of throughput may have runs without it."
    assert list(sum_up(marked, none)) == [f"5 runs = 2 in the means + {lacking}. {note}"]
    # What else counts runs in means agrees.
    assert describe_bound(marked)[0].startswith("**Caution:** [1 of the 2 runs]")
    page = render_collection(*(make_table(name, []) for name in ("sessions", "calibrations", "attempts")), marked)
    assert "3 of the 5 runs with samples of mpstat; 1 of them count in means" in page


def test_the_methods_page_argues_every_rule() -> None:
    rules = render_suspect_rules()
    assert all(prose(words) in rules for rule in RULES for words in (rule.name, rule.definition, rule.reason))


def test_the_data_of_a_figure_are_in_the_words_and_units_of_tables(tmp_path: Path) -> None:
    (tmp_path / "figures/one").mkdir(parents=True)
    files = {"untitled.svg": "<svg/>", "caption.txt": "Rates.", "alt.txt": "Rates"}
    files["figure.csv"] = "cc,loss_pct,runs_count,rate_bps,retransmit_ratio\ncubic,0.01,12345,9234239285.0,0.00012\n"
    for name, content in files.items():
        (tmp_path / "figures/one" / name).write_text(content, encoding="utf-8")
    render_figure_fragment(Exhibit("one", "One"), tmp_path / "figures", tmp_path, options="--evaluation esnet-dtn")
    shown = html.unescape((tmp_path / "figure_one.md").read_text(encoding="utf-8"))
    headings = ("Algorithm", "Loss (%)", "Runs", "Rate (Gbit/s)", "Retransmitted (%)")
    for words in (*headings, ">cubic<", ">0.01<", ">12345<", ">9.234<", ">0.012<"):
        assert words in shown
    # The command that draws it is among its files.
    command = "-m ccreport plot_figure --evaluation esnet-dtn --figure one --output one<"
    assert command in shown.partition("### Download")[2]
    # Results elsewhere are named as they were given, but for where on a machine they are.
    options = {"results": "", "out here": " --database 'out here'", "/a/b": " --database path/to/results"}
    assert {place: name_folder(Path(place, "my/archive.duckdb")) for place in options} == options
    told = name_evaluation(Path("mine/my.yaml"), Path("out here/my/archive.duckdb"))
    assert told == "--evaluation path/to/my.yaml --database 'out here'"
    render_figure_fragment(Exhibit("one", "One"), tmp_path / "figures", tmp_path, options=told)
    shown = html.unescape((tmp_path / "figure_one.md").read_text(encoding="utf-8"))
    assert f"-m ccreport plot_figure {told} --figure one --output one<" in shown


def test_what_the_first_rows_of_a_figures_data_share_is_not_said_of_all(tmp_path: Path) -> None:
    (tmp_path / "figures/one").mkdir(parents=True)
    data = ["drawn_as,run_id,cc,rate_min_bps", *[f"line,r{number},cubic," for number in range(30)], "band,r1,bbr,1"]
    files = {"untitled.svg": "<svg/>", "caption.txt": "Rates.", "alt.txt": "Rates", "figure.csv": "\n".join(data)}
    for name, content in files.items():
        (tmp_path / "figures/one" / name).write_text(content, encoding="utf-8")
    render_figure_fragment(Exhibit("one", "One"), tmp_path / "figures", tmp_path)
    shown = html.unescape((tmp_path / "figure_one.md").read_text(encoding="utf-8"))
    assert "The rows below: Drawn as: line; Algorithm: cubic." in shown
    assert "The first 25 of 31 rows" in shown


@pytest.mark.parametrize(
    ("column", "values", "shown"),
    [
        ("rate_bps", [9.077e9, 3.83e9, 10.2349e9, 0.0], ["9.077", "3.830", "10.235", "0"]),
        ("time_s", [0.5, 10.5, 100.5], ["0.5", "10.5", "100.5"]),
        ("loss_ratio", [0.00001234, 0.12], ["0.00001234", "0.1200"]),
        ("size_pct", [123456.5, 0.5], ["123,500", "0.5000"]),
        ("overflow_count", [1106.0, 1258.3535353535353], ["1,106", "1,258"]),
    ],
)
def test_the_numbers_of_a_figures_column_have_the_same_digits(
    column: str, values: list[float], shown: list[str], tmp_path: Path
) -> None:
    (tmp_path / "figures/one").mkdir(parents=True)
    data = "\n".join([column, *map(str, values)])
    files = {"untitled.svg": "<svg/>", "caption.txt": "Rates.", "alt.txt": "Rates", "figure.csv": data}
    for name, content in files.items():
        (tmp_path / "figures/one" / name).write_text(content, encoding="utf-8")
    render_figure_fragment(Exhibit("one", "One"), tmp_path / "figures", tmp_path)
    found = html.unescape((tmp_path / "figure_one.md").read_text(encoding="utf-8"))
    assert re.findall('<td class="number">(.*?)</td>', found) == shown


def test_of_means_and_their_single_runs_a_page_shows_the_means(tmp_path: Path) -> None:
    (tmp_path / "figures/one").mkdir(parents=True)
    data = "drawn_as,cc,rate_mean_bps,run_id,rate_bps\nmean,bbr,2e9,,\nmean,cubic,1e9,,\nrun,bbr,,r1,2e9\n"
    files = {"untitled.svg": "<svg/>", "caption.txt": "Rates.", "alt.txt": "Rates", "figure.csv": data}
    for name, content in files.items():
        (tmp_path / "figures/one" / name).write_text(content, encoding="utf-8")
    render_figure_fragment(Exhibit("one", "One"), tmp_path / "figures", tmp_path)
    shown = html.unescape((tmp_path / "figure_one.md").read_text(encoding="utf-8"))
    assert "Rate mean" in shown
    assert not re.search("Drawn as|Run ID|r1", shown)


def test_of_what_is_known_about_an_archive_three_sentences_are_shown_and_the_others_folded() -> None:
    note = "Not *theirs*: at 0.02 % loss. BBR means BBRv2. Tests last 30 s. All else is as in the paper."
    shown, _, folded = render_note(note).partition("<details")
    assert "Not &#42;theirs&#42;&#58; at 0&#46;02 &#37; loss&#46; BBR means BBRv2&#46; Tests last 30 s&#46;\n" in shown
    assert "All else is as in the paper&#46;" in folded
    assert "<details" not in render_note("One. Two. Three.")
    assert render_note("") == ""


def test_a_subtitle_that_asks_has_no_full_stop_behind_its_mark() -> None:
    asks = {"subtitle": "Does loss matter?", "source": "A. Author, A paper", "claims": {}}
    none = conform(pl.DataFrame(), "claims")
    assert html.unescape(render_about(asks, none)) == "Does loss matter?"
    assert html.unescape(name_publication(asks)) == "The publication: A. Author, A paper."
    assert html.unescape(render_about(asks | {"subtitle": "In a lab"}, none)) == "In a lab."
    assert name_publication(asks | {"source": ""}) == ""
    # No full stop stands by itself.
    assert render_about(asks | {"subtitle": ""}, none) == ""


def test_the_subtitle_is_followed_by_how_many_claims_have_each_verdict() -> None:
    verdicts = {"a": "holds", "b": "holds", "c": "not enough data"}
    rows = [
        {"claim": name, "claim_verdict": verdict, "verdict": verdict, "value": 2.0}
        for name, verdict in verdicts.items()
    ]
    judged = pl.DataFrame(rows)
    declared = {"subtitle": "In a lab", "claims": {name: {"checks": [{}]} for name in verdicts}}
    told = "In a lab: of 3 claims 2 hold, 1 is undecided."
    assert html.unescape(render_about(declared, judged)) == told
    assert html.unescape(render_about(declared, judged, is_emulated=True)) == f"{told} All paths are emulated."
    declared["subtitle"] = "Does loss matter?"
    assert html.unescape(render_about(declared, judged)) == "Does loss matter? Of 3 claims 2 hold, 1 is undecided."
    declared["subtitle"] = ""
    assert html.unescape(render_about(declared, judged)) == "Of 3 claims 2 hold, 1 is undecided."
    # What cannot be tested at all is told from what needs more runs.
    judged = judged.with_columns(value=None)
    lacking = "1 is undecided (not tested)."
    assert html.unescape(render_about(declared, judged)) == f"Of 3 claims 2 hold, {lacking}"

"""Fragments: all that the pages show and do not say themselves, as Markdown that they include."""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import polars as pl
import yaml

import ccreport
from ccreport.compare.claim_verdicts import show_units
from ccreport.compare.claims import load_explanations
from ccreport.core.atomic_files import replaces_folder
from ccreport.core.evaluation import MEANS, load_evaluation
from ccreport.core.schema_problems import guess
from ccreport.core.tables import read_table
from ccreport.figures.exhibits import find_exhibits, has_rows, list_exhibits
from ccreport.figures.kit.theme import call_algorithms
from ccreport.measure import ARCHIVE_TABLES
from ccreport.rebuild.batches import read_batches, table_files
from ccreport.report.archive_fragments.absence import mark_absence
from ccreport.report.archive_fragments.archive_facts import (
    count_states,
    describe_archive,
    describe_overlooked,
    describe_parts,
    name_days,
    render_measured,
    render_sessions,
    summarise_ledger,
)
from ccreport.report.archive_fragments.campaign_keys import render_campaign_keys
from ccreport.report.archive_fragments.captures import render_captures
from ccreport.report.archive_fragments.collection import render_collection
from ccreport.report.archive_fragments.ledger import render_impossible, render_ledger, render_rejects
from ccreport.report.archive_fragments.other_records import count_others, render_others
from ccreport.report.archive_fragments.paths import read_paths, render_paths
from ccreport.report.archive_fragments.provenance import cite_archive, render_assumptions, render_provenance
from ccreport.report.archive_fragments.raw_file_pages import render_file_pages
from ccreport.report.archive_fragments.repetitions import describe_repetitions
from ccreport.report.archive_fragments.report_title import title_report
from ccreport.report.archive_fragments.suspects import render_suspect_rules, render_suspects, summarise_left_out
from ccreport.report.first_page.least_shares import read_least_shares
from ccreport.report.first_page.pairs import call_conditions, list_doubted, list_pairs, mark_published
from ccreport.report.first_page.rtts import read_rtts
from ccreport.report.first_page.variation import read_variation
from ccreport.report.fragments.about import BOTH, name_publication, render_about, render_groups, render_note
from ccreport.report.fragments.absent_exhibits import (
    describe_empty_tables,
    describe_evaluation,
    describe_missing_figures,
    find_missing,
    leave_out_foreign,
)
from ccreport.report.fragments.claims_page.claim_exhibits import leave_out_unrelated
from ccreport.report.fragments.claims_page.claims_beside import describe_beside
from ccreport.report.fragments.claims_page.render_claims import describe_claims, render_claims
from ccreport.report.fragments.condition_map import choose_colours, render_condition_map
from ccreport.report.fragments.dictionary import render_dictionary
from ccreport.report.fragments.exhibits import render_figure_fragment, render_list, render_table_fragment
from ccreport.report.fragments.first_page.figures_asked import ask_figures
from ccreport.report.fragments.first_page.findings import render_findings
from ccreport.report.fragments.first_page.jumps import render_jumps
from ccreport.report.fragments.first_page.mean_findings import describe_bound, describe_means
from ccreport.report.fragments.first_page.pairs_picture import render_picture
from ccreport.report.fragments.first_page.rates_by_loss import Look
from ccreport.report.fragments.first_page.software import (
    add_licence,
    describe_release,
    describe_software,
    list_authors,
    render_bibtex,
)
from ccreport.report.fragments.first_page.verdict_strip import render_squares, render_strip
from ccreport.report.fragments.first_page.version_findings import describe_versions
from ccreport.report.fragments.gallery_pages.figure_kinds import find_examples, render_figure_kinds
from ccreport.report.fragments.gallery_pages.gallery import render_gallery
from ccreport.report.fragments.published_beside import read_heads
from ccreport.report.fragments.reproduction import describe_reproduction, render_reproduction
from ccreport.report.fragments.words import render_words
from ccreport.report.markup.blocks import write_fragment
from ccreport.report.markup.escape import escape_text
from ccreport.report.site.absent_pages import name_absent
from ccreport.storage.sums import hash_file, hash_sums
from ccreport.summarise.algorithm_names import show_algorithms
from ccreport.summarise.questions import COMPARISONS
from ccreport.trace.find_table import name_evaluation, name_folder
from ccreport.trace.pairs_figure import write_pairs_command
from ccreport.trace.raw_files import ReadFiles
from ccreport.trace.rows.candidates import find_rateless
from ccreport.trace.uses import list_uses

SHOWN_TABLES: Final = (
    *("runs", "flows", "harness_results", "captures", "capture_logs", "sessions", "calibrations", "attempts"),
)
PACKAGE: Final = Path(ccreport.__file__).parent


@replaces_folder("fragments")
def render_fragments(
    batches: Path,
    tables: Path,
    archive: Path,
    config: str,
    evaluation: Path,
    summaries: Path,
    figures: Path,
    first_page: Path,
    reproduction: Path,
    claims: Path,
    explanations: list[Path],
    citation: Path,
    database: Path,
    fragments: Path,
) -> None:
    """Write all fragments into one folder, which is replaced.

    `batches` lists the batches. `tables` is the folder of their tables and of the archive's; `archive` is the
    inventory's JSON object about the archive as a whole; `config` the configuration as YAML or JSON text; `summaries`
    is the folder of published tables. `figures` is that of figures. `first_page` is one of figures as
    `plot_reproduction` writes it; `reproduction` is the table of that name. `claims` is the table of that name;
    `explanations` is none or one file about this archive; `citation` is CITATION.cff, `database` the evaluation's.
    """
    raw_files, rejects, suspects = (read_table(name, [tables / name / "archive.parquet"]) for name in ARCHIVE_TABLES)
    names = list(read_batches(batches))
    runs, flows, results, captures, logs, sessions, calibrations, attempts = (
        read_table(table, table_files(tables, table, names)) for table in SHOWN_TABLES
    )
    facts: dict[str, Any] = json.loads(archive.read_text(encoding="utf-8"))
    settings = yaml.safe_load(config) or {}
    declared = load_evaluation(evaluation)
    runs = mark_absence(runs, suspects, find_rateless(database, declared["tables"]), settings)
    named_flows, others = (show_algorithms(rows, declared) for rows in (flows, count_others(tables, names)))
    declared["title"] = title_report(evaluation.stem, declared["title"], sessions, runs)
    declared["claims"] = leave_out_unrelated(declared, flows["cc"].drop_nulls().unique(), summaries, figures)
    compared, judged = (read_table(name, [path]) for name, path in (("reproduction", reproduction), ("claims", claims)))
    explained = load_explanations(explanations, evaluation.stem, declared["claims"], archive)
    judged = show_units(judged, declared["claims"])
    release = add_licence(settings["release"], citation, facts["sha256"])
    authors = list_authors(release, citation, facts["sha256"])
    variables: dict[str, Any] = {
        "archive": describe_archive(raw_files, runs, named_flows, results, others) | cite_archive(settings, facts),
        "evaluation": describe_evaluation(declared, summaries, figures),
        "reproduction": describe_reproduction(compared),
        "claims": describe_claims(judged, declared["claims"]),
        "ledger": {state: f"{count:,}" for state, count in count_states(raw_files).items()}
        | {"overlooked": describe_overlooked(raw_files), "parts": describe_parts(rejects)},
        "results": {"sha256": hash_sums({path.name: hash_file(path) for path in summaries.glob("*.csv")})},
        "software": {"version": escape_text(ccreport.__version__), **describe_software(citation)},
        "release": describe_release(release, authors, declared["title"]),
        # No page says these: a report that has this evaluation as a section shows them.
        "kinds": find_examples(declared["figures"], figures),
    }
    asked = _read_published(COMPARISONS, declared, summaries)
    shown = {"reproduction": compared, "claims": judged, "conditions": asked}
    variables |= name_absent([page for page, rows in shown.items() if rows.is_empty()])
    write_fragment(fragments, "_variables.yml", yaml.safe_dump(variables, sort_keys=True))
    is_emulated = runs["session"].is_in(sessions["session"].implode()).fill_null(value=False).all()
    write_fragment(fragments, "about.md", render_about(declared, judged, is_emulated=is_emulated))
    write_fragment(fragments, "publication.md", name_publication(declared))
    cited = render_bibtex(release, authors, declared["title"], name_days(runs, others), facts["sha256"])
    write_fragment(fragments, "bibtex.md", cited)
    with call_algorithms(declared["algorithm_names"]):
        groups = render_groups(flows["cc"].drop_nulls(), declared["algorithms"])
        of_versions = describe_versions(declared, figures, [*flows["cc"].drop_nulls().unique()])
    both = BOTH if (runs["mode"] == "both").any() else ""
    write_fragment(fragments, "groups.md", groups, both)
    algorithms = list(declared["algorithms"])
    titles = {name: facts["title"] for name, facts in declared["tables"].items()}
    named_cells, named_questions = (call_conditions(rows, declared) for rows in (compared, asked))
    named_questions = mark_published(named_questions, named_cells)
    rtts = read_rtts(database, declared)
    pairs = list_pairs(named_cells, algorithms)
    doubts = {table: facts["doubt"] for table, facts in declared["reproduction"].items()}
    doubted = list_doubted(named_cells, doubts)
    about, reasons = (explained["reproduction"][name] for name in ("note", "pairs"))
    known = {"causes": explained["causes"], "pairs": reasons}
    of_means = describe_means(
        _read_published(MEANS, declared, summaries), named_questions.filter(table_name=MEANS), rtts
    )
    rows_at_most = declared["tables"].get(COMPARISONS, {}).get("rows_at_most", 0)
    members, ran = ({name: own["members"] for name, own in declared["algorithms"].items()}, {*flows["cc"].drop_nulls()})
    compared_names = {*asked["first_algorithm"], *asked["second_algorithm"]}
    found = render_findings(
        *(judged, declared["claims"], pairs, algorithms, named_questions, titles, doubted, of_versions, rtts, known),
        of_means and [*of_means, *describe_bound(runs)],
        show_algorithms(read_variation(database, declared, compared), declared),
        read_least_shares(database, declared),
        Look(choose_colours(compared_names, members, ran), rows_at_most),
    )
    write_fragment(fragments, "findings.md", found or f"This report shows {variables['evaluation']['exhibits']}.\n")
    write_fragment(fragments, "squares.md", render_squares(judged, declared["claims"]))
    write_fragment(fragments, "verdicts.md", render_strip(judged, declared["claims"], known["causes"]))
    absent = runs.filter(~pl.col("is_counted")).height
    rejected = count_states(raw_files)["rejected"]
    jumps = render_jumps(variables["archive"], rejected, absent, has_claims=not judged.is_empty())
    write_fragment(fragments, "jumps.md", jumps)
    write_fragment(fragments, "figures_asked.md", ask_figures(declared, figures))
    command = write_pairs_command(evaluation, database)
    write_fragment(fragments, "pairs.md", render_picture(first_page, figures, declared["front_figures"], command))
    for page, note in declared["notes"].items():
        write_fragment(fragments, f"notes_{page}.md", escape_text(note))
        # The supplement leaves them to the report, but says what names in figures mean.
        write_fragment(fragments, f"notes_{page}_supplement.md", *((groups, both) if page == "figures" else ("",)))
    # A report with sections lists them there.
    write_fragment(fragments, "other_evaluations.md", "")
    write_fragment(fragments, "about_archive.md", render_note(about))
    repeated = describe_repetitions(declared, summaries)
    measured = render_measured(variables["archive"], repeated, has_runs=not runs.is_empty())
    write_fragment(fragments, "measured.md", measured)
    uses = list_uses(database, declared, figures)
    left_out = summarise_left_out(suspects, runs, attempts, uses)
    write_fragment(fragments, "rejected.md", summarise_ledger(raw_files, rejects), left_out)
    write_fragment(fragments, "sessions.md", render_sessions(runs, named_flows, uses, sessions))
    write_fragment(fragments, "paths.md", render_paths(read_paths(database, declared["published_paths"]), uses))
    write_fragment(fragments, "collection.md", render_collection(sessions, calibrations, attempts, runs))
    write_fragment(fragments, "others.md", render_others(others))
    counted = render_ledger(raw_files, rejects, facts["files_count"])
    write_fragment(fragments, "ledger.md", counted, render_impossible(flows))
    write_fragment(fragments, "rejects.md", render_rejects(rejects))
    render_file_pages(read := ReadFiles(raw_files.filter(state="ingested").sort("path")), fragments)
    write_fragment(fragments, "suspects.md", render_suspects(suspects, runs, attempts, uses))
    write_fragment(fragments, "suspect_rules.md", render_suspect_rules())
    write_fragment(fragments, "words.md", render_words())
    write_fragment(fragments, "dictionary.md", render_dictionary())
    write_fragment(fragments, "campaign_keys.md", render_campaign_keys())
    write_fragment(fragments, "assumptions.md", render_assumptions(PACKAGE))
    write_fragment(fragments, "provenance.md", render_provenance(facts, config, evaluation))
    of_conditions = render_condition_map(named_questions, titles, rows_at_most, rtts, members=members, held=ran)
    write_fragment(fragments, "condition_map.md", of_conditions)
    for cell in sorted(reasons.keys() - (cells := set(named_cells["cell"]))):
        print(f"warning: explanations of {evaluation.stem}: reproduction.pairs: no cell `{cell}`{guess(cell, cells)}")
    heads = read_heads(database, compared, declared["tables"])
    for name, has_cells in (("reproduction", True), ("reproduction_report", False)):
        page = render_reproduction(named_cells, titles, algorithms, about, doubts, reasons, heads, has_cells=has_cells)
        write_fragment(fragments, f"{name}.md", page)
    shown_in, option = find_exhibits(declared, figures, summaries), name_folder(database)
    # On paper both tables of claims are read, one after the other.
    for name, has_reasons in (("claims", True), ("claims_report", False)):
        page = render_claims(judged, declared["claims"], shown_in, has_reasons=has_reasons, option=option)
        write_fragment(fragments, f"{name}.md", page)
    write_fragment(fragments, "captures_list.md", render_captures(captures, logs, runs))
    held = {"has_captures": not captures.is_empty(), "has_others": not others.is_empty()}
    options = name_evaluation(evaluation, database)
    _render_exhibits(declared, judged, summaries, figures, fragments, read, options=options, **held)


def _read_published(table: str, declared: Mapping[str, Any], summaries: Path) -> pl.DataFrame:
    """Return a published table with the names of figures, without rows where the evaluation has none of that name."""
    paths = [summaries / f"{table}.parquet"] if table in declared["tables"] else []
    return show_algorithms(read_table(table, paths), declared)


def _render_exhibits(
    declared: Mapping[str, Any],
    judged: pl.DataFrame,
    summaries: Path,
    figures: Path,
    fragments: Path,
    read: ReadFiles,
    *,
    options: str,
    has_captures: bool,
    has_others: bool,
) -> None:
    published, drawn = list_exhibits(declared["tables"], summaries), list_exhibits(declared["figures"], figures)
    for table in published:
        render_table_fragment(table, summaries, fragments)
    for figure in drawn:
        beside, facts = describe_beside(figure.name, judged, declared["claims"]), declared["figures"][figure.name]
        told = {"declared": facts, "beside": beside, "read": read, "options": options, "evaluation": declared}
        render_figure_fragment(figure, figures, fragments, **told)
    empty = [table for table in published if not has_rows(table.name, summaries)]
    missing = [figure for figure in drawn if find_missing(figure, figures)]
    # What shows captures is on their page, where there are any.
    own_page = [exhibit for exhibit in (*published, *drawn) if exhibit.is_of_captures] if has_captures else []
    elsewhere = [exhibit for exhibit in missing if exhibit not in own_page]
    render_gallery([figure for figure in drawn if figure not in own_page], declared["figures"], figures, fragments)
    write_fragment(fragments, "figure_kinds.md", render_figure_kinds(find_examples(declared["figures"], figures)))
    named = [table for table in empty if table not in own_page]
    named = named if has_others else leave_out_foreign(named, declared["claims"])
    describe_missing = partial(describe_missing_figures, declared=declared["figures"], figures=figures)
    for kind, exhibits, absent, describe, captures_name in (
        ("table", published, named, describe_empty_tables, "witnesses.md"),
        ("figure", drawn, elsewhere, describe_missing, "captures.md"),
    ):
        shown = [exhibit for exhibit in exhibits if exhibit not in own_page and exhibit not in (*empty, *missing)]
        render_list(kind, shown, fragments, describe(absent))
        if (printed := declared["printed"].get(f"{kind}s")) is not None:
            # The PDF and its supplement have a part each, of what is missing too.
            for document, is_its in (("report", True), ("supplement", False)):
                own, lacking = (
                    [exhibit for exhibit in part if (exhibit.name in printed) is is_its] for part in (shown, absent)
                )
                render_list(kind, own, fragments, describe(lacking), name=f"{kind}s_{document}.md")
        of_captures = [exhibit for exhibit in exhibits if exhibit in own_page]
        # The page includes it all the same, and has said already what is missing.
        render_list(kind, of_captures, fragments, name=captures_name)

"""
Evaluations: what each declares, and which results it has.
"""

import csv
import hashlib
import re

from ccreport.core.evaluation import PUBLISHED_COLUMNS, SHARED_QUERIES, name_rule

# What each published table is written as.
TABLE_FORMATS = ("parquet", "csv", "html", "tex")


wildcard_constraints:
    evaluation="|".join(re.escape(name) for name in EVALUATIONS),


def find_evaluation(wildcards):
    """Return the file of an evaluation."""
    return EVALUATION_FILES[wildcards.evaluation]


def find_summaries(wildcards):
    """Return the folder of an evaluation's published tables, for commands that take folders."""
    return RESULTS / wildcards.evaluation / "summaries"


def list_table_files(evaluation):
    """List the files of an evaluation's published tables."""
    return collect(
        "<results>/{evaluation}/summaries/{table}.{format}",
        evaluation=evaluation,
        table=EVALUATIONS[evaluation]["tables"],
        format=TABLE_FORMATS,
    )


def list_summaries(wildcards):
    """List the files of an evaluation's published tables, by the wildcard."""
    return list_table_files(wildcards.evaluation)


def list_published(wildcards):
    """List an evaluation's tables."""
    return list(EVALUATIONS[wildcards.evaluation]["tables"])


def list_figures(wildcards):
    """List an evaluation's figures."""
    return list(EVALUATIONS[wildcards.evaluation]["figures"])


def list_tables_of_cells(evaluation):
    """List an evaluation's tables of cells, which have values to compare; the others show what queries found."""
    tables = EVALUATIONS[evaluation]["tables"]
    return [name for name, facts in tables.items() if "rows" in facts]


def list_schemas(wildcards):
    """List the schemas of an evaluation's tables."""
    return collect("schemas/tables/{table}.yaml", table=list_published(wildcards))


def list_queries(wildcards):
    """List the queries of an evaluation's tables."""
    return [name_query(table) for table in list_published(wildcards)]


def list_section_queries(wildcards):
    """List the queries of the tables of all evaluations that may be sections."""
    tables = {table for name in SECTIONS for table in EVALUATIONS[name]["tables"]}
    return [name_query(table) for table in sorted(tables)]


def list_expected(wildcards):
    """List the files of published values that an evaluation names, by their paths from here."""
    folder = EVALUATION_FILES[wildcards.evaluation].parent
    reproduction = EVALUATIONS[wildcards.evaluation]["reproduction"]
    return [folder / facts["expected"] for facts in reproduction.values()]


def digest_published_cells(wildcards):
    """Return a hash of which cells the files of published values have: tables mark the others, whatever the values."""
    cells = []
    for path in list_expected(wildcards):
        text = path.read_text(encoding="utf-8-sig", errors="replace")
        for row in csv.DictReader(text.splitlines()):
            cells.append([row[name] for name in row if name not in PUBLISHED_COLUMNS])
    return f"published cells: {hashlib.sha256(repr(cells).encode()).hexdigest()}"


# The parts of an evaluation that its views are made of.
VIEWED_PARTS = (
    "algorithms",
    "completion_bytes",
    "condition",
    "consistent_within_factor",
    "edge",
    "equal_within_pct",
    "labels",
    "published",
    "rtt_bucket_edges_ms",
    "tables",
)


def describe(name, parts):
    """Return parts of an evaluation as text."""
    declared = EVALUATIONS[name]
    return json.dumps({part: declared[part] for part in parts}, sort_keys=True)


def declare(*parts):
    """Return what gives parts of an evaluation as text: a rule with it reruns when these change, not with all the file."""
    return lambda wildcards: describe(wildcards.evaluation, parts)

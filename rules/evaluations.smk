"""
Evaluations: what each declares, and which results it has.
"""

import re

from ccreport.evaluation import SHARED_QUERIES, load_evaluation, resolve_evaluation

# The evaluations by name: the report's own first, then those that are sections of it where the archive is of their kind.
try:
    EVALUATION_FILES = {
        path.stem: path if path.is_absolute() else Path(os.path.relpath(path))
        for path in map(resolve_evaluation, [config["evaluation"], *config["sections"]])
    }
    EVALUATIONS = {
        name: load_evaluation(path) for name, path in EVALUATION_FILES.items()
    }
except (InputError, OSError) as error:
    raise WorkflowError(f"evaluation: {error}")
MAIN, *SECTIONS = EVALUATIONS
# An evaluation's results lie in a folder of its name, beside these.
SHARED_FOLDERS = """
    archive collected explorer fetched manifests performance reference rejects release report screenshots tables
""".split()
if taken := [name for name in EVALUATIONS if name in SHARED_FOLDERS]:
    raise WorkflowError(
        f"evaluation: {taken[0]}.yaml needs another name, as results/{taken[0]} is taken"
    )


wildcard_constraints:
    evaluation="|".join(re.escape(name) for name in EVALUATIONS),


def find_evaluation(wildcards):
    """Return the file of an evaluation."""
    return EVALUATION_FILES[wildcards.evaluation]


def find_results(wildcards):
    """Return the folder of an evaluation's results, for commands that take folders."""
    return RESULTS / wildcards.evaluation


def list_published(wildcards):
    """List an evaluation's tables."""
    return list(EVALUATIONS[wildcards.evaluation]["tables"])


def list_figures(wildcards):
    """List an evaluation's figures."""
    return list(EVALUATIONS[wildcards.evaluation]["figures"])


def list_cell_tables(wildcards):
    """List an evaluation's tables of cells, which have values to compare; the others show what queries found."""
    tables = EVALUATIONS[wildcards.evaluation]["tables"]
    return [name for name, facts in tables.items() if "rows" in facts]


def list_schemas(wildcards):
    """List the schemas of an evaluation's tables."""
    return collect("schemas/tables/{table}.yaml", table=list_published(wildcards))


def list_queries(wildcards):
    """List the queries of an evaluation's tables."""
    return collect("src/ccreport/sql/{table}.sql", table=list_published(wildcards))


def list_section_queries(wildcards):
    """List the queries of the tables of all evaluations that may be sections."""
    tables = {table for name in SECTIONS for table in EVALUATIONS[name]["tables"]}
    return collect("src/ccreport/sql/{table}.sql", table=sorted(tables))


def list_expected(wildcards):
    """List the files of published values that an evaluation names, by their paths from here."""
    folder = EVALUATION_FILES[wildcards.evaluation].parent
    reproduction = EVALUATIONS[wildcards.evaluation]["reproduction"]
    return [folder / facts["expected"] for facts in reproduction.values()]


def list_other_tables(wildcards):
    """List the tables of cells of the build that the config compares with."""
    if config["compare_with"] is None:
        return []
    folder = Path(config["compare_with"])
    places = [folder / wildcards.evaluation / "summaries", folder / "summaries", folder]
    tables = list_cell_tables(wildcards)
    found = [place / f"{table}.parquet" for place in places for table in tables]
    found = [table for table in found if table.is_file()]
    if not found and wildcards.evaluation == MAIN:
        raise WorkflowError(f"compare_with: {folder} has no results of another build")
    return found


# The parts of an evaluation that its views are made of.
VIEWED_PARTS = ("algorithms", "edge", "labels", "rtt_bucket_edges_ms", "tables")


def describe(name, parts):
    """Return parts of an evaluation as text."""
    declared = EVALUATIONS[name]
    return json.dumps({part: declared[part] for part in parts}, sort_keys=True)


def declare(*parts):
    """Return what gives parts of an evaluation as text: a rule with it reruns when these change, not with all the file."""
    return lambda wildcards: describe(wildcards.evaluation, parts)

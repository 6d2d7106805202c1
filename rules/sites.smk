"""
Sites: the report, a report of one evaluation alone, and the sections that are part of the report; which evaluation
each shows, what it is made of, and what of it is compared with a former release.
"""


wildcard_constraints:
    site="report|({})/(report|section)".format("|".join(map(re.escape, EVALUATIONS))),


def name_evaluation(wildcards):
    """Return the evaluation of a site: its folder's, or the report's own."""
    return MAIN if wildcards.site == "report" else wildcards.site.split("/")[0]


def find_site(wildcards):
    """Return the folder of a site."""
    return RESULTS / wildcards.site


def find_in_site(*names):
    """Return what lists results, by their names, of the evaluation that a site shows."""

    def find(wildcards):
        return [RESULTS / name_evaluation(wildcards) / name for name in names]

    return find


def list_site_tables(wildcards):
    """List the files of the published tables of the evaluation that a site shows."""
    return list_table_files(name_evaluation(wildcards))


def find_explorer(wildcards):
    """Return the list of runs in the explorer's folder; a section takes the report's."""
    is_section = Path(wildcards.site).name == "section"
    return [] if is_section else [RESULTS / "explorer/runs.js"]


def find_explorer_folder(wildcards, input):
    """Return the folder that the explorer's page loads from."""
    return [Path(path).parent for path in input.explorer]


def find_changes(wildcards):
    """Return what changed since the release before; a section leaves it to the report."""
    return [] if Path(wildcards.site).name == "section" else [RESULTS / "changes.md"]


def list_shown_sections():
    """List the evaluations, beside the report's own, of whose kind the archive has runs."""
    if not SECTIONS:
        return []
    with checkpoints.list_sections.get().output.sections.open() as stream:
        return stream.read().split()


def list_section_pages(wildcards):
    """List the first pages of the sections."""
    if wildcards.site != "report":
        return []
    return [RESULTS / name / "section/index.html" for name in list_shown_sections()]


def find_section_folders(wildcards, input):
    """Return the folders of the sections."""
    return [Path(index).parent for index in input.sections]


def list_compared_results(wildcards):
    """List a former release and what it is compared with: the results of the evaluations shown."""
    parts = (
        "figures",
        "report.pdf",
        "supplement.pdf",
        "reproduction.parquet",
        "claims.parquet",
    )
    shown = [MAIN, *list_shown_sections()]
    return [
        Path(RELEASE["former"]) / "SHA256SUMS",
        "<results>/batches.txt",
        "<results>/archive.json",
        *(table for name in shown for table in list_table_files(name)),
        *(RESULTS / name / part for name in shown for part in parts),
        *([config["explanations"]] if config["explanations"] else []),
    ]

"""
Compared: the tables of another build, or of a release, that the configuration compares with.
"""


def find_other_tables(evaluation):
    """Return the tables of cells of an evaluation in the results that the config compares with."""
    folder = Path(config["compare_with"])
    places = [
        folder / evaluation / "summaries",
        # Of a release.
        folder / "evaluations" / evaluation / "tables",
        folder / "summaries",
        folder,
    ]
    tables = list_tables_of_cells(evaluation)
    found = [place / f"{table}.parquet" for place in places for table in tables]
    return [table for table in found if table.is_file()]


def list_other_tables(wildcards):
    """List the tables of cells of the build that the config compares with."""
    return find_other_tables(wildcards.evaluation) if config["compare_with"] else []


if config["compare_with"]:
    other_folders = {path.parent.resolve() for path in find_other_tables(MAIN)}
    if not other_folders:
        patterns = ("*/summaries", "evaluations/*/tables")
        found = [
            path
            for name in patterns
            for path in Path(config["compare_with"]).glob(name)
        ]
        there = " and ".join(f"`{path.parent.name}`" for path in sorted(found))
        refuse(
            f"compare_with: {config['compare_with']} has no tables of the evaluation `{MAIN}`"
            + (f", but of {there}" if there else "")
            + "; name the results folder of another build, or the folder of a release",
            "compare_with",
        )
    if (RESULTS / MAIN / "summaries").resolve() in other_folders:
        refuse(
            f"compare_with: {config['compare_with']} has the results of this build itself; name those of another, such"
            f" as a copy: cp -r {RESULTS} former",
            "compare_with",
        )

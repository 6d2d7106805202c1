"""
Changes: what the results have otherwise than the release before, which `release.former` in the configuration names.

Inputs:  that release, and of each evaluation shown its summaries, figures, comparisons and PDF
Outputs: <results>/changes.md, a page of the report
"""


def list_compared(wildcards):
    """List what is compared with the release before: results of the evaluations shown, and that release; none without."""
    if not RELEASE["former"]:
        return []
    names = [MAIN, *list_shown_sections()]
    parts = (
        "summaries",
        "figures",
        "report.pdf",
        "reproduction.parquet",
        "claims.parquet",
    )
    return [
        Path(RELEASE["former"]) / "SHA256SUMS",
        *(RESULTS / name / part for name in names for part in parts),
    ]


rule compare_former:
    """Write what the results have otherwise than the release before, for the report's page."""
    input:
        list_compared,
        batches="<results>/batches.txt",
        facts="<results>/archive.json",
        evaluations=[EVALUATION_FILES[name] for name in EVALUATIONS],
        sections="<results>/sections.txt" if SECTIONS else [],
        explanations=config["explanations"] or [],
        package=list_package_files("*.*") if RELEASE["former"] else [],
        code=list_sources("compare_former", *list_tables()),
    output:
        changes="<results>/changes.md",
    log:
        "<logs>/compare_former.txt",
    conda:
        "../environment.yml"
    params:
        config=RELEASE_CONFIG,
        results=RESULTS,
    shell:
        """
        python -m ccreport compare_former \
            --config {params.config:q} \
            --results {params.results:q} \
            --evaluations {input.evaluations:q} \
            --sections {input.sections:q} \
            --changes {output.changes:q} \
            &>{log:q}
        """

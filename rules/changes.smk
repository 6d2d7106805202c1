"""
Changes: what the results have otherwise than the release before, which `release.former` in the configuration names.

Inputs:  that release, and of each evaluation shown its summaries, figures, comparisons and PDF
Outputs: <results>/changes.md, a page of the report
"""

# Without a release before, the page depends on nothing else: no change of the archive or the release makes it anew.
HAS_FORMER = RELEASE["former"] is not None


rule compare_former:
    """Write what the results have otherwise than the release before, for the report's page."""
    input:
        list_compared_results if HAS_FORMER else [],
        evaluations=(
            [EVALUATION_FILES[name] for name in EVALUATIONS] if HAS_FORMER else []
        ),
        sections="<results>/sections.txt" if HAS_FORMER and SECTIONS else [],
    output:
        changes="<results>/changes.md",
    log:
        "<logs>/compare_former.txt",
    conda:
        "../environment.yml"
    params:
        code=digest_sources("compare_former", *list_tables()),
        package=digest_package("*.*") if HAS_FORMER else "",
        config=(
            RELEASE_CONFIG if HAS_FORMER else json.dumps({"release": {"former": None}})
        ),
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

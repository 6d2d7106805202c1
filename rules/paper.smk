"""
Paper: the report as a PDF and its supplement, from the pages and fragments of the website.

Inputs:  <results>/{evaluation}/fragments/, <results>/{evaluation}/figures/, <results>/{evaluation}/first_page/, reports/
Outputs: <results>/{evaluation}/{report,supplement}.pdf
         <results>/converted/{evaluation}/{report,supplement}.pdf/, the cache: converted pages, and pages.txt, which names them
"""


rule render_paper:
    """Render the pages that reports/report.md or supplement.md names as a PDF, through pandoc and Typst."""
    input:
        figures=["<results>/{evaluation}/figures", "<results>/{evaluation}/first_page"],
        fragments="<results>/{evaluation}/fragments",
        pages=collect("reports/{page}", page=REPORT_SOURCES),
        templates=list_package_files("paper*.lua", "*.typ"),
    output:
        paper="<results>/{evaluation}/{document}.pdf",
        # Snakemake removes outputs before a job: it must not know of the converted pages beside this one.
        cache="<results>/converted/{evaluation}/{document}.pdf/pages.txt",
    log:
        "<logs>/{evaluation}/render_paper/{document}.txt",
    wildcard_constraints:
        document="report|supplement",
    conda:
        "../environment.yml"
    params:
        code=digest_sources("render_paper"),
        sources=Path("reports"),
        converted=RESULTS / "converted",
    shell:
        """
        python -m ccreport render_paper \
            --document {wildcards.document:q} \
            --sources {params.sources:q} \
            --fragments {input.fragments:q} \
            --figures {input.figures:q} \
            --kept {params.converted:q}/{wildcards.evaluation:q}/{wildcards.document:q}.pdf \
            --output {output.paper:q} \
            &>{log:q}
        """

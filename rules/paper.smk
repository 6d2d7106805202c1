"""
Paper: the report as one PDF, from the pages and fragments of the website.

Inputs:  <results>/fragments/, <results>/figures/, reports/
Outputs: <results>/report.pdf
"""


rule render_paper:
    """Render the pages that reports/paper.md names as one PDF, through pandoc and Typst."""
    input:
        collect("<results>/figures/{figure}", figure=FIGURES),
        fragments="<results>/fragments",
        pages=collect("reports/{page}", page=REPORT_SOURCES),
        code=list_sources("render_paper"),
        templates=list_package_files("paper*.lua", "*.typ"),
    output:
        paper="<results>/report.pdf",
    log:
        "<logs>/render_paper.txt",
    conda:
        "../environment.yml"
    params:
        sources=Path("reports"),
        figures=RESULTS / "figures",
    shell:
        """
        python -m ccreport render_paper \
            --sources {params.sources:q} \
            --fragments {input.fragments:q} \
            --figures {params.figures:q} \
            --output {output.paper:q} \
            &>{log:q}
        """

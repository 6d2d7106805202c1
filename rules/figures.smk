"""
Figures: each that the evaluation declares, drawn from the database.

Inputs:  the evaluation, <results>/archive.duckdb
Outputs: <results>/figures/<figure>/, with figure.{svg,png,vl.json,csv}, caption.txt and alt.txt, or with missing.txt
"""


rule plot_figure:
    """Draw one figure, or say why it has no data."""
    input:
        evaluation=config["evaluation"],
        database="<results>/archive.duckdb",
        code=list_sources("plot_figure"),
    output:
        folder=directory("<results>/figures/{figure}"),
    log:
        "<logs>/plot_figure/{figure}.txt",
    conda:
        "../environment.yml"
    shell:
        """
        python -m ccreport plot_figure \
            --figure {wildcards.figure:q} \
            --evaluation {input.evaluation:q} \
            --database {input.database:q} \
            --output {output.folder:q} \
            &>{log:q}
        """

"""
Figures: all that the evaluation declares, drawn from the database.

Inputs:  the evaluation, <results>/archive.duckdb
Outputs: <results>/figures/<figure>/, with figure.{svg,png,vl.json,csv}, caption.txt and alt.txt, or with missing.txt
"""


rule plot_figures:
    """Draw all figures, in one job, since starting the drawing engine takes longer than drawing."""
    input:
        evaluation=ancient(config["evaluation"]),
        database="<results>/archive.duckdb",
        code=list_sources("plot_figures"),
    output:
        folders=directory(collect("<results>/figures/{figure}", figure=FIGURES)),
    log:
        "<logs>/plot_figures.txt",
    conda:
        "../environment.yml"
    threads: 2
    params:
        declared=declare("figures"),
        figures=FIGURES,
        cache=RESULTS / "drawn",
        output=RESULTS / "figures",
    shell:
        """
        python -m ccreport plot_figures \
            --figures {params.figures:q} \
            --evaluation {input.evaluation:q} \
            --database {input.database:q} \
            --cache {params.cache:q} \
            --output {params.output:q} \
            &>{log:q}
        """

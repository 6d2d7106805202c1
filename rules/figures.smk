"""
Figures: all that the evaluation declares, drawn from the database.

Inputs:  the evaluation, <results>/{evaluation}/archive.duckdb
Outputs: <results>/{evaluation}/figures/<figure>/, with figure.{svg,png,vl.json,csv}, caption.txt and alt.txt, or with missing.txt
"""


rule plot_figures:
    """Draw all figures, in one job, since starting the drawing engine takes longer than drawing."""
    input:
        evaluation=ancient(find_evaluation),
        database="<results>/{evaluation}/archive.duckdb",
    output:
        figures=directory("<results>/{evaluation}/figures"),
    log:
        "<logs>/{evaluation}/plot_figures.txt",
    # As for the tables: fragments wait for both.
    priority: 1
    conda:
        "../environment.yml"
    params:
        code=digest_sources("plot_figures"),
        declared=declare("figures"),
        figures=list_figures,
        results=find_results,
    # Two processes draw where many figures changed, beside other jobs: to wait for two idle cores takes longer.
    shell:
        """
        python -m ccreport plot_figures \
            --figures {params.figures:q} \
            --evaluation {input.evaluation:q} \
            --database {input.database:q} \
            --cache {params.results:q}/drawn \
            --output {output.figures:q} \
            &>{log:q}
        """

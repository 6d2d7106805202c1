"""
Figures: all that the evaluation declares, drawn from the database.

Inputs:  the evaluation, <results>/{evaluation}/archive.duckdb, <results>/{evaluation}/reproduction.parquet
Outputs: <results>/{evaluation}/figures/<figure>/, with figure.{svg,png,vl.json,csv}, untitled.svg, caption.txt and alt.txt, or with
         missing.txt
         <results>/{evaluation}/first_page/, the figures of the first page
         <results>/{evaluation}/drawn/, the cache: copies of the figures, and figures.json, which names them
"""


rule plot_figures:
    """Draw all figures, in one job, since starting the drawing engine takes longer than drawing."""
    input:
        evaluation=ancient(find_evaluation),
        database="<results>/{evaluation}/archive.duckdb",
    output:
        figures=report(
            directory("<results>/{evaluation}/figures"),
            patterns=["{figure}/figure.svg"],
            category="Figures",
            subcategory="{evaluation}",
            labels={"figure": "{figure}"},
        ),
        # Snakemake removes outputs before a job: it must not know of the copies beside this one.
        cache="<results>/{evaluation}/drawn/figures.json",
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
    # Two processes draw where many figures changed, beside other jobs: to wait for two idle cores takes longer.
    shell:
        """
        python -m ccreport plot_figures \
            --figures {params.figures:q} \
            --evaluation {input.evaluation:q} \
            --database {input.database:q} \
            --cache {output.cache:q} \
            --output {output.figures:q} \
            &>{log:q}
        """


rule plot_reproduction:
    """Draw the first page's picture: each pair of published cells, the paper's beside this archive's."""
    input:
        evaluation=ancient(find_evaluation),
        reproduction="<results>/{evaluation}/reproduction.parquet",
        database="<results>/{evaluation}/archive.duckdb",
    output:
        figures=report(
            directory("<results>/{evaluation}/first_page"),
            patterns=["{figure}/figure.svg"],
            category="Figures",
            subcategory="{evaluation}",
            labels={"figure": "{figure}"},
        ),
    log:
        "<logs>/{evaluation}/plot_reproduction.txt",
    conda:
        "../environment.yml"
    params:
        code=digest_sources("plot_reproduction"),
        declared=declare("algorithms", "tables"),
    shell:
        """
        python -m ccreport plot_reproduction \
            --evaluation {input.evaluation:q} \
            --reproduction {input.reproduction:q} \
            --database {input.database:q} \
            --output {output.figures:q} \
            &>{log:q}
        """

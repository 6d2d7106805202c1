"""
Report: everything the pages show as fragments, and the pages rendered with them.

Inputs:  <results>/tables/, <results>/summaries/, <results>/figures/, <results>/cells/, <results>/explorer/,
         <results>/report.pdf, reports/
Outputs: <results>/fragments/
         <results>/report/, a folder of HTML pages
"""


rule render_fragments:
    """Write all that the pages include: facts, ledger, tables, figures, comparisons, dictionary, provenance."""
    input:
        list_experiment_tables,
        collect("<results>/summaries/{table}.html", table=PUBLISHED_TABLES),
        collect("<results>/figures/{figure}", figure=FIGURES),
        "<results>/tables/raw_files/archive.parquet",
        "<results>/tables/rejects/archive.parquet",
        experiments="<results>/experiments.txt",
        archive="<results>/archive.json",
        evaluation=config["evaluation"],
        reproduction="<results>/reproduction.parquet",
        claims="<results>/claims.parquet",
        explanations=config["explanations"] or [],
        schema="schemas/explanations.schema.yaml",
        code=list_sources("render_fragments", *list_tables()),
        # The methods page lists the assumptions of all modules, the tables page shows the queries.
        shown=list_package_files("*.py", "*.sql"),
    output:
        fragments=directory("<results>/fragments"),
    log:
        "<logs>/render_fragments.txt",
    conda:
        "../environment.yml"
    params:
        tables=RESULTS / "tables",
        summaries=RESULTS / "summaries",
        figures=RESULTS / "figures",
        config=CONFIG_TEXT,
    shell:
        """
        python -m ccreport render_fragments \
            --experiments {input.experiments:q} \
            --tables {params.tables:q} \
            --archive {input.archive:q} \
            --config {params.config:q} \
            --evaluation {input.evaluation:q} \
            --summaries {params.summaries:q} \
            --figures {params.figures:q} \
            --reproduction {input.reproduction:q} \
            --claims {input.claims:q} \
            --explanations {input.explanations:q} \
            --fragments {output.fragments:q} \
            &>{log:q}
        """


rule render_report:
    """Render the pages with Quarto, or with the embedded renderer, and make them searchable."""
    input:
        collect(
            "<results>/summaries/{table}.{kind}",
            table=PUBLISHED_TABLES,
            kind=["csv", "tex"],
        ),
        collect("<results>/figures/{figure}", figure=FIGURES),
        fragments="<results>/fragments",
        cells="<results>/cells",
        explorer="<results>/explorer",
        files=[
            "<results>/report.pdf",
            "<results>/reproduction.csv",
            "<results>/claims.csv",
        ],
        pages=collect("reports/{page}", page=REPORT_SOURCES),
        code=list_sources("render_report"),
        templates=list_package_files("*.lua", "*.html", "*.css", "report/*.js"),
    output:
        index="<results>/report/index.html",
    log:
        "<logs>/render_report.txt",
    conda:
        "../environment.yml"
    params:
        renderer=config["report"]["renderer"],
        sources=Path("reports"),
        summaries=RESULTS / "summaries",
        figures=RESULTS / "figures",
        output=RESULTS / "report",
    shell:
        """
        python -m ccreport render_report \
            --renderer {params.renderer:q} \
            --sources {params.sources:q} \
            --fragments {input.fragments:q} \
            --tables {params.summaries:q} \
            --figures {params.figures:q} \
            --cells {input.cells:q} \
            --explorer {input.explorer:q} \
            --files {input.files:q} \
            --output {params.output:q} \
            &>{log:q}
        """

"""
Summarise: one DuckDB file over all tables, and the published tables as its queries say.

Inputs:  <results>/tables/, the evaluation, src/ccreport/sql/<table>.sql
Outputs: <results>/archive.duckdb
         <results>/summaries/<table>.{parquet,csv,html,tex}
         <results>/cells/cells_<table>.qmd
"""


rule list_views:
    """Make the database: a view for each table, and those that the evaluation declares."""
    input:
        list_experiment_tables,
        "<results>/tables/raw_files/archive.parquet",
        "<results>/tables/rejects/archive.parquet",
        experiments="<results>/experiments.txt",
        evaluation=ancient(config["evaluation"]),
        sql=collect(
            "src/ccreport/sql/{table}.sql",
            table=["macros", "measured_runs", *PUBLISHED_TABLES],
        ),
        code=list_sources("list_views"),
    output:
        database="<results>/archive.duckdb",
    log:
        "<logs>/list_views.txt",
    conda:
        "../environment.yml"
    params:
        declared=declare("algorithms", "labels", "rtt_bucket_edges_ms", "tables"),
        tables=RESULTS / "tables",
    shell:
        """
        python -m ccreport list_views \
            --experiments {input.experiments:q} \
            --tables {params.tables:q} \
            --evaluation {input.evaluation:q} \
            --database {output.database:q} \
            &>{log:q}
        """


rule summarise_table:
    """Run the query of one published table."""
    input:
        evaluation=ancient(config["evaluation"]),
        database="<results>/archive.duckdb",
        code=list_sources("summarise_table"),
        schema="schemas/tables/{table}.yaml",
    output:
        parquet="<results>/summaries/{table}.parquet",
        csv="<results>/summaries/{table}.csv",
        html="<results>/summaries/{table}.html",
        latex="<results>/summaries/{table}.tex",
    log:
        "<logs>/summarise_table/{table}.txt",
    conda:
        "../environment.yml"
    params:
        declared=declare_table,
    shell:
        """
        python -m ccreport summarise_table \
            --table {wildcards.table:q} \
            --evaluation {input.evaluation:q} \
            --database {input.database:q} \
            --parquet {output.parquet:q} \
            --csv {output.csv:q} \
            --html {output.html:q} \
            --latex {output.latex:q} \
            &>{log:q}
        """


rule trace_cells:
    """Write for each published table the page that says what its cells are made of."""
    input:
        collect("<results>/summaries/{table}.parquet", table=PUBLISHED_TABLES),
        evaluation=ancient(config["evaluation"]),
        database="<results>/archive.duckdb",
        sql=collect("src/ccreport/sql/{table}.sql", table=PUBLISHED_TABLES),
        code=list_sources("trace_cells", *PUBLISHED_TABLES),
    output:
        cells=directory("<results>/cells"),
    log:
        "<logs>/trace_cells.txt",
    conda:
        "../environment.yml"
    params:
        declared=declare("algorithms", "tables"),
        summaries=RESULTS / "summaries",
    shell:
        """
        python -m ccreport trace_cells \
            --evaluation {input.evaluation:q} \
            --database {input.database:q} \
            --summaries {params.summaries:q} \
            --output {output.cells:q} \
            &>{log:q}
        """

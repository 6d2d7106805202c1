"""
Summarise: one DuckDB file over all tables, and the published tables as its queries say.

Inputs:  <results>/tables/, the evaluation, src/ccreport/sql/<table>.sql
Outputs: <results>/archive.duckdb
         <results>/summaries/<table>.{parquet,csv,html}
"""


rule list_views:
    """Make the database: a view for each table, and those that the evaluation declares."""
    input:
        list_experiment_tables,
        "<results>/tables/raw_files/archive.parquet",
        "<results>/tables/rejects/archive.parquet",
        experiments="<results>/experiments.txt",
        evaluation=config["evaluation"],
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
        evaluation=config["evaluation"],
        database="<results>/archive.duckdb",
        code=list_sources("summarise_table"),
        schema="schemas/tables/{table}.yaml",
    output:
        parquet="<results>/summaries/{table}.parquet",
        csv="<results>/summaries/{table}.csv",
        html="<results>/summaries/{table}.html",
    log:
        "<logs>/summarise_table/{table}.txt",
    conda:
        "../environment.yml"
    shell:
        """
        python -m ccreport summarise_table \
            --table {wildcards.table:q} \
            --evaluation {input.evaluation:q} \
            --database {input.database:q} \
            --parquet {output.parquet:q} \
            --csv {output.csv:q} \
            --html {output.html:q} \
            &>{log:q}
        """

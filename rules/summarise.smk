"""
Summarise: one DuckDB file over all tables, and the published tables as its queries say.

Inputs:  <results>/tables/, the evaluation, src/ccreport/sql/*/<table>.sql
Outputs: <results>/{evaluation}/archive.duckdb
         <results>/{evaluation}/summaries/<table>.{parquet,csv,html,tex}
         <results>/{evaluation}/cells/cells_<table>.qmd
"""


rule list_views:
    """Make the database: a view for each table, and those that the evaluation declares."""
    input:
        "<results>/tables/raw_files/archive.parquet",
        "<results>/tables/rejects/archive.parquet",
        "<results>/tables/suspects/archive.parquet",
        batches="<results>/batches.txt",
        evaluation=ancient(find_evaluation),
        queries=list_queries,
        sql=[name_query(name) for name in SHARED_QUERIES],
    output:
        database="<results>/{evaluation}/archive.duckdb",
    log:
        "<logs>/{evaluation}/list_views.txt",
    # Nearly all that follows waits for this.
    priority: 2
    conda:
        "../environment.yml"
    params:
        code=digest_sources("list_views"),
        declared=declare(*VIEWED_PARTS),
        tables=RESULTS / "tables",
        suspect=(
            "--include-suspect"
            if config["include_suspect"]
            else "--no-include-suspect"
        ),
    shell:
        """
        python -m ccreport list_views \
            --batches {input.batches:q} \
            --tables {params.tables:q} \
            --evaluation {input.evaluation:q} \
            --database {output.database:q} \
            {params.suspect} \
            &>{log:q}
        """


# A rule for each evaluation, since each has tables of its own.
for evaluation in EVALUATIONS:

    rule:
        """Run the queries of the published tables, in one job, since starting it takes longer than a query."""
        name:
            name_rule("summarise_tables", evaluation)
        input:
            list_schemas,
            evaluation=ancient(find_evaluation),
            database="<results>/{evaluation}/archive.duckdb",
        output:
            report(
                collect(
                    "<results>/{{evaluation}}/summaries/{table}.csv",
                    table=EVALUATIONS[evaluation]["tables"],
                ),
                category="Tables",
                subcategory="{evaluation}",
            ),
            collect(
                "<results>/{{evaluation}}/summaries/{table}.{format}",
                table=EVALUATIONS[evaluation]["tables"],
                format=[name for name in TABLE_FORMATS if name != "csv"],
            ),
        log:
            "<logs>/{evaluation}/summarise_tables.txt",
        wildcard_constraints:
            evaluation=re.escape(evaluation),
        # The longest way through a report: claims wait for this, fragments for them, the PDF for those, the pages for it.
        priority: 2
        conda:
            "../environment.yml"
        params:
            code=digest_sources("summarise_tables"),
            declared=declare("tables"),
            # Rows that the publication does not have are marked.
            published=digest_published_cells,
            summaries=find_summaries,
        shell:
            """
            python -m ccreport summarise_tables \
                --evaluation {input.evaluation:q} \
                --database {input.database:q} \
                --output {params.summaries:q} \
                &>{log:q}
            """


rule trace_cells:
    """Write for each published table the page that says what its cells are made of."""
    input:
        list_schemas,
        evaluation=ancient(find_evaluation),
        database="<results>/{evaluation}/archive.duckdb",
        summaries=list_summaries,
        queries=list_queries,
    output:
        cells=directory("<results>/{evaluation}/cells"),
    log:
        "<logs>/{evaluation}/trace_cells.txt",
    # After what the PDF is made of: only the pages wait for this.
    priority: -1
    conda:
        "../environment.yml"
    params:
        code=digest_sources("trace_cells"),
        declared=declare("algorithms", "tables"),
        summaries=find_summaries,
    shell:
        """
        python -m ccreport trace_cells \
            --evaluation {input.evaluation:q} \
            --database {input.database:q} \
            --summaries {params.summaries:q} \
            --output {output.cells:q} \
            &>{log:q}
        """

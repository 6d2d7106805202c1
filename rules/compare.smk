"""
Compare: the published tables beside the paper's or another archive's, and the paper's claims.

Inputs:  <results>/{evaluation}/archive.duckdb, <results>/{evaluation}/summaries/, the evaluation and the values that it names
Outputs: <results>/{evaluation}/reproduction.{parquet,csv}
         <results>/{evaluation}/claims.{parquet,csv}
"""


rule compare_tables:
    """Put every published cell beside this archive's."""
    input:
        list_expected,
        list_schemas,
        other=list_other_tables,
        evaluation=ancient(find_evaluation),
        database="<results>/{evaluation}/archive.duckdb",
        summaries=list_summaries,
    output:
        parquet="<results>/{evaluation}/reproduction.parquet",
        csv=report(
            "<results>/{evaluation}/reproduction.csv",
            category="Comparison",
            subcategory="{evaluation}",
        ),
    log:
        "<logs>/{evaluation}/compare_tables.txt",
    conda:
        "../environment.yml"
    params:
        code=digest_sources("compare_tables", "reproduction"),
        declared=declare("algorithms", "reproduction", "tables"),
        summaries=find_summaries,
    shell:
        """
        python -m ccreport compare_tables \
            --evaluation {input.evaluation:q} \
            --database {input.database:q} \
            --summaries {params.summaries:q} \
            --compare-with {input.other:q} \
            --parquet {output.parquet:q} \
            --csv {output.csv:q} \
            &>{log:q}
        """


rule judge_claims:
    """Check what the paper says; the log names claims that nothing explains."""
    input:
        archive="<results>/archive.json",
        explanations=config["explanations"] or [],
        evaluation=ancient(find_evaluation),
        database="<results>/{evaluation}/archive.duckdb",
        summaries=list_summaries,
        schema="schemas/explanations.schema.yaml",
        sql=name_query("claims"),
    output:
        parquet="<results>/{evaluation}/claims.parquet",
        csv=report(
            "<results>/{evaluation}/claims.csv",
            category="Comparison",
            subcategory="{evaluation}",
        ),
    log:
        "<logs>/{evaluation}/judge_claims.txt",
    # As for the tables that it reads.
    priority: 1
    conda:
        "../environment.yml"
    params:
        code=digest_sources("judge_claims", "claims"),
        declared=declare("bounds_set", "claims"),
        summaries=find_summaries,
    shell:
        """
        python -m ccreport judge_claims \
            --evaluation {input.evaluation:q} \
            --database {input.database:q} \
            --summaries {params.summaries:q} \
            --archive {input.archive:q} \
            --explanations {input.explanations:q} \
            --parquet {output.parquet:q} \
            --csv {output.csv:q} \
            &>{log:q}
        """

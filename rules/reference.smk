"""
Reference: what the documents say of configuration, commands, views and queries, from schemas and code themselves.

Inputs:  schemas/, src/ccreport/
Outputs: <results>/reference/, fragments
"""


rule render_reference:
    """Write tables of the keys of config.yaml, the options of all subcommands, and the columns of views."""
    input:
        collect("schemas/{kind}.schema.yaml", kind=["config", "evaluation"]),
        "schemas/views.yaml",
    output:
        reference=directory("<results>/reference"),
    log:
        "<logs>/render_reference.txt",
    conda:
        "../environment.yml"
    params:
        code=digest_sources("render_reference", *list_tables()),
        # A subcommand's options and words are those of the function behind it, a view's columns those of its query.
        package=digest_package("*.py", "*.sql"),
    shell:
        """
        python -m ccreport render_reference \
            --output {output.reference:q} \
            &>{log:q}
        """

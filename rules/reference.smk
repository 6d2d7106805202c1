"""
Reference: what the documents say of configuration and commands, from the schema and the code themselves.

Inputs:  schemas/config.schema.yaml, src/ccreport/
Outputs: <results>/reference/, fragments
"""


rule render_reference:
    """Write tables of the keys of config.yaml and of the options of all subcommands."""
    input:
        "schemas/config.schema.yaml",
    output:
        reference=directory("<results>/reference"),
    log:
        "<logs>/render_reference.txt",
    conda:
        "../environment.yml"
    params:
        code=digest_sources("render_reference"),
        # A subcommand's options and words are those of the function behind it.
        package=digest_package("*.py"),
    shell:
        """
        python -m ccreport render_reference \
            --output {output.reference:q} \
            &>{log:q}
        """

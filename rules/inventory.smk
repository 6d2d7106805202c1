"""
Inventory: what the archive holds.

Inputs:  the archive of config.yaml
Outputs: <results>/experiments.txt, one experiment a line
         <results>/archive.json, facts of the archive as a whole
         <results>/manifests/<experiment>.json, its runs and files; rewritten only where that changes it
"""


checkpoint list_raw_files:
    """List every raw file of the archive, by experiment and run."""
    input:
        archive=config["archive"],
        code=list_sources("list_raw_files"),
    output:
        experiments="<results>/experiments.txt",
        facts="<results>/archive.json",
    log:
        "<logs>/list_raw_files.txt",
    conda:
        "../environment.yml"
    params:
        # A folder's own time stamp says nothing about changes deep inside it.
        fingerprint=fingerprint(ARCHIVE),
        unpacked=RESULTS / "archive",
        manifests=RESULTS / "manifests",
    shell:
        """
        python -m ccreport list_raw_files \
            --archive {input.archive:q} \
            --unpacked {params.unpacked:q} \
            --manifests {params.manifests:q} \
            --experiments {output.experiments:q} \
            --facts {output.facts:q} \
            &>{log:q}
        """

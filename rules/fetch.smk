"""
Fetch: an archive on a web server or in S3, brought below the results, and from there read like any other.

Inputs:  none here: the place that `archive` in config.yaml names, asked at each start whether it changed
Outputs: <results>/fetched.json, facts of what was fetched
         <results>/fetched/, which Snakemake does not know of: it would remove what is half fetched
"""

ASKED = ""
# Only whoever starts a build asks, not each of its jobs; without an answer what was fetched before is taken.
if IS_REMOTE and workflow.is_main_process:
    from ccreport.storage.fetch import ask_archive

    ASKED, WORD = ask_archive(
        config["archive"],
        FETCHED,
        config["connections_count"],
        is_offline=config["offline"],
    )
    if WORD:
        logger.warning(WORD)


localrules:
    fetch_archive,


rule fetch_archive:
    """Fetch what is new or changed of an archive elsewhere; the terminal shows how far it is."""
    output:
        facts="<results>/fetched.json",
    log:
        "<logs>/fetch_archive.txt",
    conda:
        "../environment.yml"
    params:
        code=digest_sources("fetch_archive"),
        source=config["archive"],
        folder=FETCHED,
        asked=ASKED,
        connections=config["connections_count"],
        offline="--offline" if config["offline"] else "--no-offline",
    shell:
        """
        python -m ccreport fetch_archive \
            --source {params.source:q} \
            --folder {params.folder:q} \
            --facts {output.facts:q} \
            --log {log:q} \
            --asked {params.asked:q} \
            --connections {params.connections:q} \
            {params.offline:q}
        """

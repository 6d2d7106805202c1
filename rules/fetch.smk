"""
Fetch: an archive on a web server or in S3, or parts of one, brought below the results, and from there read like any other.

Inputs:  none here: the places that `archive` in config.yaml names, asked by each build whether they changed
Outputs: <results>/fetched.json, facts of what was fetched
         <results>/fetched/, which Snakemake does not know of: it would remove what is half fetched
"""

import time

# Another value at each start, so that each build asks whether the archive changed.
ASKED_AT = "offline" if config["offline"] else time.time_ns()


localrules:
    fetch_archive,


checkpoint fetch_archive:
    """Fetch what is new or changed of an archive elsewhere; the terminal shows how far it is."""
    output:
        facts="<results>/fetched.json",
    log:
        "<logs>/fetch_archive.txt",
    conda:
        "../environment.yml"
    params:
        code=digest_sources("fetch_archive"),
        source=list(FETCHED),
        folder=list(FETCHED.values()),
        asked_at=ASKED_AT,
        connections=config["connections_count"],
        offline="--offline" if config["offline"] else "--no-offline",
    shell:
        """
        python -m ccreport fetch_archive \
            --source {params.source:q} \
            --folder {params.folder:q} \
            --facts {output.facts:q} \
            --log {log:q} \
            --connections {params.connections:q} \
            {params.offline:q}
        """


def find_fetched_facts(wildcards):
    """Return the file about an archive elsewhere, which the first job of a build fetches."""
    return checkpoints.fetch_archive.get().output.facts


def describe_fetched():
    """Return the facts of an archive elsewhere as they are now, an empty text where none was fetched."""
    return FACTS.read_text(encoding="utf-8") if FACTS.exists() else ""


FACTS = RESULTS / "fetched.json"
# What was fetched counts, not when: the inventory's fingerprint says whether it differs. Where nothing was fetched, the
# results may be of an archive on disk. Snakemake would not look whether they are, if it waited for a checkpoint.
FETCHED_FACTS = ancient(find_fetched_facts) if FACTS.exists() else FACTS

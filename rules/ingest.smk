"""
Ingest: the raw files of one experiment as typed tables, one rule for each family of formats.

Inputs:  <results>/manifests/<experiment>.json and the raw files that it lists
Outputs: <results>/tables/<table>/<experiment>.parquet
         <results>/rejects/<rule>/<experiment>.parquet, what could not be used and why
"""


rule ingest_iperf3:
    """Read iperf3 and pscheduler results: tests, streams and intervals."""
    input:
        manifest="<results>/manifests/{experiment}.json",
        code=list_sources("ingest_iperf3", "tests", "streams", "intervals", "rejects"),
    output:
        tests="<results>/tables/tests/{experiment}.parquet",
        streams="<results>/tables/streams/{experiment}.parquet",
        intervals="<results>/tables/intervals/{experiment}.parquet",
        rejects="<results>/rejects/ingest_iperf3/{experiment}.parquet",
    log:
        "<logs>/ingest_iperf3/{experiment}.txt",
    conda:
        "../environment.yml"
    params:
        root=RAW_FOLDER,
    shell:
        """
        python -m ccreport ingest_iperf3 \
            --manifest {input.manifest:q} \
            --root {params.root:q} \
            --tests {output.tests:q} \
            --streams {output.streams:q} \
            --intervals {output.intervals:q} \
            --rejects {output.rejects:q} \
            &>{log:q}
        """


rule ingest_ss:
    """Read samples of ss: samples."""
    input:
        manifest="<results>/manifests/{experiment}.json",
        code=list_sources("ingest_ss", "samples", "rejects"),
    output:
        samples="<results>/tables/samples/{experiment}.parquet",
        rejects="<results>/rejects/ingest_ss/{experiment}.parquet",
    log:
        "<logs>/ingest_ss/{experiment}.txt",
    conda:
        "../environment.yml"
    params:
        root=RAW_FOLDER,
    shell:
        """
        python -m ccreport ingest_ss \
            --manifest {input.manifest:q} \
            --root {params.root:q} \
            --samples {output.samples:q} \
            --rejects {output.rejects:q} \
            &>{log:q}
        """


rule ingest_mpstat:
    """Read mpstat logs: cpu_samples."""
    input:
        manifest="<results>/manifests/{experiment}.json",
        code=list_sources("ingest_mpstat", "cpu_samples", "rejects"),
    output:
        cpu_samples="<results>/tables/cpu_samples/{experiment}.parquet",
        rejects="<results>/rejects/ingest_mpstat/{experiment}.parquet",
    log:
        "<logs>/ingest_mpstat/{experiment}.txt",
    conda:
        "../environment.yml"
    params:
        root=RAW_FOLDER,
    shell:
        """
        python -m ccreport ingest_mpstat \
            --manifest {input.manifest:q} \
            --root {params.root:q} \
            --cpu-samples {output.cpu_samples:q} \
            --rejects {output.rejects:q} \
            &>{log:q}
        """


rule ingest_metadata:
    """Read what the harness recorded: experiments, hosts, qdiscs and harness_results."""
    input:
        manifest="<results>/manifests/{experiment}.json",
        code=list_sources(
            "ingest_metadata",
            "experiments",
            "hosts",
            "qdiscs",
            "harness_results",
            "rejects",
        ),
    output:
        experiments="<results>/tables/experiments/{experiment}.parquet",
        hosts="<results>/tables/hosts/{experiment}.parquet",
        qdiscs="<results>/tables/qdiscs/{experiment}.parquet",
        harness_results="<results>/tables/harness_results/{experiment}.parquet",
        rejects="<results>/rejects/ingest_metadata/{experiment}.parquet",
    log:
        "<logs>/ingest_metadata/{experiment}.txt",
    conda:
        "../environment.yml"
    params:
        root=RAW_FOLDER,
    shell:
        """
        python -m ccreport ingest_metadata \
            --manifest {input.manifest:q} \
            --root {params.root:q} \
            --experiments {output.experiments:q} \
            --hosts {output.hosts:q} \
            --qdiscs {output.qdiscs:q} \
            --harness-results {output.harness_results:q} \
            --rejects {output.rejects:q} \
            &>{log:q}
        """

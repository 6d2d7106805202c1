"""
Publish: a release of the build as a folder that others can check and cite, its copy elsewhere, and the check itself.

Inputs:  everything that the report is made of, the raw archive, `release` in config.yaml
Outputs: <results>/release/<version>/, with SHA256SUMS over all its files
         <results>/release/<version>.sha256, with the hash of that list
         <results>/release/.<version>.published, while the release is of these results
         <results>/release/<version>.tar.zst with its hash in <version>.tar.zst.sha256, if `release.pack` is true
         <results>/verify.html, what was found of a release
"""

RELEASE = config["release"]
RELEASE_FOLDER = RESULTS / "release" / RELEASE["version"]
# An empty file that is there while the release is of these results.
RELEASE_PUBLISHED = RELEASE_FOLDER.with_name(f".{RELEASE_FOLDER.name}.published")
if (
    RELEASE["former"] is not None
    and Path(RELEASE["former"]).resolve() == RELEASE_FOLDER.resolve()
):
    refuse(
        f"release.former: {RELEASE['former']} is the release that is being written; raise release.version",
        *("release", "former"),
    )
# Where the release is copied to, whether it may replace another, and what fails a build is not part of it, and changes
# nothing in it.
RELEASE_CONFIG = json.dumps(
    {
        **{k: value for k, value in config.items() if k not in {*UNSHOWN, "strict"}},
        "release": RELEASE | {"target": None, "replace": False},
    },
    sort_keys=True,
)


rule publish:
    """Write the release: data, tables, figures, report, code, and what describes, dates and sums them up; the terminal shows its SHA-256."""
    input:
        ACCEPTED,
        check_release,
        "<results>/tables/raw_files/archive.parquet",
        "<results>/tables/rejects/archive.parquet",
        "<results>/report/index.html",
        batches="<results>/batches.txt",
        facts="<results>/archive.json",
        evaluations=[EVALUATION_FILES[name] for name in EVALUATIONS],
        sections="<results>/sections.txt" if SECTIONS else [],
        explanations=config["explanations"] or [],
        declared=[
            *("LICENSE", "CITATION.cff", "README.md", "CONTRIBUTING.md", "Makefile"),
            *("pyproject.toml", "requirements.lock", "requirements-dev.lock"),
            "environment.yml",
            # What README.md and CONTRIBUTING.md lead to.
            *map(str, sorted(Path("docs").glob("*"))),
        ],
    output:
        # Where the job is refused or fails, the release that is there stays as it is, with its hash.
        sums=update(RELEASE_FOLDER / "SHA256SUMS"),
        sha256=update(RELEASE_FOLDER.with_name(f"{RELEASE_FOLDER.name}.sha256")),
        # Only this is gone then, so that the next build does not take the release for this one's.
        published=touch(RELEASE_PUBLISHED),
    log:
        "<logs>/publish.txt",
    conda:
        "../environment.yml"
    params:
        code=digest_sources("publish", *list_tables()),
        package=digest_package("*.*"),
        config=RELEASE_CONFIG,
        archive=PLACES,
        results=RESULTS,
        release=RELEASE_FOLDER,
        replace="--replace" if RELEASE["replace"] else "--no-replace",
    shell:
        """
        python -m ccreport publish \
            --config {params.config:q} \
            --archive {params.archive:q} \
            --results {params.results:q} \
            --evaluations {input.evaluations:q} \
            --sections {input.sections:q} \
            --release {params.release:q} \
            {params.replace:q} \
            2>&1 | tee {log:q} | sed --unbuffered /^ccreport:/d
        """


rule upload:
    """Copy the release to `release.target`: new files only, nothing changed or deleted but by `release.replace`; the terminal shows what went where."""
    input:
        check_target,
        RELEASE_PUBLISHED,
        sums=RELEASE_FOLDER / "SHA256SUMS",
    log:
        "<logs>/upload.txt",
    conda:
        "../environment.yml"
    params:
        code=digest_sources("upload"),
        release=RELEASE_FOLDER,
        target=RELEASE["target"],
        replace=["--replace"] if RELEASE["replace"] else [],
    shell:
        """
        python -m ccreport upload \
            --release {params.release:q} \
            --target {params.target:q} \
            {params.replace:q} \
            2>&1 | tee {log:q} | sed --unbuffered /^ccreport:/d
        """


rule verify:
    """Check a release, this build's or the one that `verify` in the configuration names; the terminal shows each check."""
    input:
        [] if config["verify"] else RELEASE_PUBLISHED,
        sums=[] if config["verify"] else RELEASE_FOLDER / "SHA256SUMS",
    log:
        "<logs>/verify.txt",
    conda:
        "../environment.yml"
    params:
        code=digest_sources("verify"),
        release=config["verify"] or RELEASE_FOLDER,
        page=RESULTS / "verify.html",
    shell:
        """
        mkdir -p "$(dirname {params.page:q})"
        python -m ccreport verify {params.release:q} \
            --html {params.page:q} \
            2>&1 | tee {log:q} | sed --unbuffered /^ccreport:/d
        """

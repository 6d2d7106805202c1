"""
Release checks: what would refuse a release or its upload, tried before the first job.
"""

from ccreport.core.evaluation import has_known_authors, is_sample


def check_release(wildcards):
    """End before the first job, or once the archive is listed, where the release would be refused or not say whose data it holds: an input function that names no file."""
    if workflow.is_main_process:
        force_damaged_release()
        check_version(wildcards)
        warn_of_order()
    if workflow.is_main_process and not is_sample(PLACES) and not is_of_known_authors():
        # Only here, as loading it takes a third of a second.
        from ccreport.publish.declaration import check_named

        try:
            check_named(config["release"])
        except InputError as error:
            stop(error)
    return []


@cache
def force_damaged_release():
    """Publish a release that is asked for again, as `--forcerun` would, where a file of it is not as it was: Snakemake does not look at all."""
    asked = {*workflow.dag_settings.targets}
    if not asked & {"publish", "upload"} or not RELEASE_PUBLISHED.exists():
        return
    # Only here, as other builds have no use for it.
    from ccreport.publish.sums import find_damage, say_damage

    if damage := find_damage(RELEASE_FOLDER, is_packed=RELEASE["pack"]):
        logger.warning(
            f"{RELEASE_FOLDER} is damaged: {say_damage(damage)}; it is published again"
        )
        workflow.dag.forcerules.add(workflow.get_rule("publish"))


def check_version(wildcards):
    """End where there is a file in place of the release, or a release of another archive that is not to be replaced."""
    release, facts = RELEASE_FOLDER, RELEASE_FOLDER / "raw/archive.json"
    if release.exists() and not release.is_dir():
        refuse(
            f"release.version: {release} is a file, not a folder; remove it, or raise release.version",
            *("release", "version"),
        )
    if RELEASE["replace"] or not facts.exists():
        return
    # Only now it is known of which archive the results will be: those that are there may be of another.
    listed = checkpoints.list_raw_files.get().output.facts
    if read_archive_hash(facts) not in (None, read_archive_hash(listed)):
        # Only here, as loading it takes most of a second.
        from ccreport.publish.release import PUBLISHED

        stop(PUBLISHED.format(version=RELEASE["version"], release=release))


def warn_of_order():
    """Warn of a release that is of a lower version than the one before it."""
    if RELEASE["former"] is None:
        return
    # Only here, as other builds have no use for it.
    from ccreport.publish.changes.differences import describe_order
    from ccreport.publish.upload import read_version

    try:
        former = read_version(Path(RELEASE["former"]))
    except InputError as error:
        stop(f"release.former: {error}")
    if problem := describe_order(former, RELEASE["version"]):
        mended = "raise release.version, or name an older release as release.former"
        warn_once(f"warning: {problem}; {mended}")


def read_archive_hash(facts):
    """Return the hash of the archive that a file of facts is of; None of a damaged file."""
    try:
        return json.loads(Path(facts).read_text(encoding="utf-8"))["sha256"]
    except (ValueError, KeyError):
        return None


def check_target(wildcards):
    """End before the first job where nothing says where to upload to: an input function that names no file."""
    target = config["release"]["target"]
    if workflow.is_main_process and not target:
        stop(
            "release.target is not set; name a folder, s3://bucket/prefix or https://host/folder"
        )
    if workflow.is_main_process and is_remote(target):
        try:
            check_address(target)
        except InputError as error:
            stop(f"release.target: {error}")
    return []


def is_of_known_authors():
    """Return whether the archive was read before and is the sample, lying elsewhere."""
    facts = RESULTS / "archive.json"
    return has_own_results() and has_known_authors(
        json.loads(facts.read_text())["sha256"]
    )


def check_former():
    """Raise InputError where this build would compare its results with a release that is damaged."""
    asked = {job.rule.name for job in workflow.dag.needrun_jobs()}
    if HAS_FORMER and asked & {"compare_former", "publish"}:
        # Only here, as other builds have no use for it.
        from ccreport.publish.checks.sums import require_whole

        former = Path(RELEASE["former"])
        require_whole(former, former, [], has_raw=False)

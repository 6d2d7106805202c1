"""
Configuration: checked before anything is decided.

What is wrong is one line: the file and the line in it, or --config, and what to type instead.
"""

import shutil

from ccreport.core.configuration import check_config, check_explanations


def refuse(problem, *place):
    """End with what is wrong with a value of the configuration, and where it is set."""
    stop(CONFIG_SOURCES.blame(place, problem))


try:
    check_config(config, CONFIG_SOURCES)
except InputError as error:
    stop(error)

# An environment that Snakemake makes has a Quarto of its own.
if (
    config["report"]["renderer"] == "quarto"
    and workflow.is_main_process
    and not workflow.deployment_settings.deployment_method
    and shutil.which("quarto") is None
):
    refuse(
        "report.renderer: no `quarto` is on the PATH; install it, or write `auto`, for the embedded renderer",
        *("report", "renderer"),
    )

"""
Configuration: checked before anything is decided.

What is wrong is one line: the file and the line in it, or --config, and what to type instead.
"""

from ccreport.core.configuration import check_config, check_explanations


def refuse(problem, *place):
    """End with what is wrong with a value of the configuration, and where it is set."""
    stop(CONFIG_SOURCES.blame(place, problem))


try:
    check_config(config, CONFIG_SOURCES)
except InputError as error:
    stop(error)

"""The title of a report: the evaluation's, unless the evaluation is for any archive and a campaign has a better one."""

import polars as pl

from ccreport.core.evaluation import GENERIC


def title_report(evaluation: str, title: str, sessions: pl.DataFrame, runs: pl.DataFrame) -> str:
    """Return the title of a report by an evaluation of this name and title.

    It is the campaign's where the evaluation is `generic` and all of the archive's runs are of one campaign. `sessions`
    and `runs` are as the tables are.
    """
    titles = sessions["title"].unique().to_list()
    are_of_campaign = runs.join(sessions, on="session", how="anti").is_empty()
    return str(titles[0]) if evaluation == GENERIC and len(titles) == 1 and titles[0] and are_of_campaign else title

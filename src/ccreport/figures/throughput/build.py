"""Figures of throughput over time: which runs they draw, read from the views of the database."""

from ccreport.figures.kit.figure import Figure
from ccreport.figures.run.panel import PanelRuns, read_panel
from ccreport.figures.select.declaration import FigureDeclaration, list_panels
from ccreport.figures.select.queries import MissingFigure, NoRunMatchesError
from ccreport.figures.select.recording_database import Database
from ccreport.figures.throughput.assemble import assemble_throughput_over_time
from ccreport.figures.throughput.panels_by_condition import split_by_condition
from ccreport.figures.wording.captions import write_left_out


def build_throughput_over_time(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of one condition, or of one for each of its panels, from the views of the database.

    A panel without data is left out. Raise MissingFigure where no run has the data of any.
    """
    panels: dict[str, PanelRuns] = {}
    left_out: dict[str, str] = {}
    divided, others = split_by_condition(declaration, database) if declaration.panels_by else (declaration, "")
    for letter, panel in list_panels(divided).items():
        try:
            panels[letter] = read_panel(panel, database)
        except MissingFigure as missing:
            if not letter:
                raise
            # The condition itself would fill the caption; the evaluation has it.
            reason = "no run matches its condition" if isinstance(missing, NoRunMatchesError) else str(missing)
            left_out[letter] = write_left_out(letter, panel.title, reason)
    if not panels:
        raise MissingFigure(" ".join(left_out.values()))
    return assemble_throughput_over_time(declaration, panels, left_out | ({"others": others} if others else {}))

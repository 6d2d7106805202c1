"""What to say of a run that a figure was asked to draw and that is none of those that it can."""

import duckdb

from ccreport.core.identifiers import match_runs
from ccreport.figures.select.declaration import CAPTURE_KINDS, FigureDeclaration
from ccreport.figures.select.queries import UNCOUNTED


def describe_other_runs(declaration: FigureDeclaration, connection: duckdb.DuckDBPyConnection) -> str | None:
    """Return which runs a figure's `run` means and why it cannot draw them; None where it means none.

    The database takes the figure's condition.
    """
    # A condition ends before the line does: it may close with a comment.
    query = f"SELECT run_id, is_counted, (\n{declaration.where}\n) FROM labelled_runs"  # noqa: S608
    runs = {run: facts for run, *facts in connection.execute(query).fetchall()}
    found = match_runs(str(declaration.run), runs)
    if not found:
        return None
    is_counted, is_met = runs[found[0]]
    alone = len(found) == 1
    which = found[0] if alone else f"{len(found):,} runs, such as {found[0]},"
    if not is_met:
        said = f"do{'es' * alone} not meet the figure's `where`"
        return f"{which} {said}; give the full name: --change run={found[0]}"
    if not is_counted:
        return f"{which} do{'es' * alone} not count ({UNCOUNTED})"
    if declaration.kind in CAPTURE_KINDS:
        return f"{which} ha{'s' if alone else 've'} no capture with flows of {'its' if alone else 'their'} test"
    drawn = "several algorithms at once" if declaration.overlapped else "one algorithm alone"
    return f"{which} meet{'s' * alone} the figure's `where`, but `overlapped` asks for runs of {drawn}"

"""Plot reproduction: the forest plot of all pairs of published cells, for wide and narrow screens and for paper."""

from pathlib import Path
from typing import Final

from ccreport.core.atomic_files import replaces_folder
from ccreport.core.evaluation import load_evaluation
from ccreport.core.tables import read_table
from ccreport.figures.write import write_files
from ccreport.report.first_page.forest import draw_forest
from ccreport.report.first_page.forest_frame import NARROW, PAPER, WIDE
from ccreport.report.first_page.pairs import call_conditions, list_doubted, list_pairs
from ccreport.report.first_page.rtts import read_rtts

# Names of the figures, as folders.
PAIRS: Final = "pairs"
PAIRS_NARROW: Final = "pairs_narrow"
PAIRS_PAPER: Final = "pairs_paper"
MISSING: Final = "The evaluation publishes no pair of algorithms that the archive has runs for."


@replaces_folder("output")
def plot_reproduction(evaluation: Path, reproduction: Path, database: Path, output: Path) -> None:
    """Write the figures `pairs`, `pairs_narrow` and `pairs_paper` into folders of these names, or why there are none.

    `reproduction` is the table of that name, `database` the evaluation's. Each folder is as `plot_figure` writes it.
    """
    declared = load_evaluation(evaluation)
    algorithms = list(declared["algorithms"])
    compared = read_table("reproduction", [reproduction])
    pairs = list_pairs(call_conditions(compared, declared), algorithms)
    doubted_count = len(list_doubted(compared, {}))
    rtts = read_rtts(database, declared)
    titles = {name: facts["title"] for name, facts in declared["tables"].items()}
    for name, layout in ((PAIRS, WIDE), (PAIRS_NARROW, NARROW), (PAIRS_PAPER, PAPER)):
        folder = output / name
        folder.mkdir(parents=True)
        if pairs.is_empty():
            (folder / "missing.txt").write_text(f"{MISSING}\n", encoding="utf-8")
        else:
            write_files(draw_forest(pairs, titles, algorithms, layout, doubted_count, rtts), folder)

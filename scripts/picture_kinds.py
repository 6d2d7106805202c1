"""Draw the pictures of kinds of figures that a report shows where it drew none of a kind: `make pictures`.

Each is the thumbnail of the first figure of the kind in folders of results, in a few KB. Two kinds no archive here has
the data of: versions of BBR are drawn from made-up runs, and round-trip times of RPCs from a real file of flent.
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from condition_runs import build_database, gather, make_run, write_evaluation
from PIL import Image
from rpc_inputs import build_rpc_database

from ccreport.core.evaluation import load_evaluation
from ccreport.figures.kinds import BUILDERS
from ccreport.figures.select.declaration import read_declaration
from ccreport.figures.write import THUMBNAIL, plot_declaration

SIZE = (240, 240)
COLOURS = 16
EVALUATIONS = Path("evaluations")
FLENT = Path("tests/fixtures/flent/tcp_1up.flent.gz")


def find_thumbnails(results: list[Path]) -> dict[str, Path]:
    """Return of each kind the thumbnail of its first figure; `results` are folders of evaluations, by their names."""
    return {
        facts["kind"]: thumbnail
        for folder in reversed(results)
        for name, facts in reversed(load_evaluation(EVALUATIONS / f"{folder.name}.yaml")["figures"].items())
        if (thumbnail := folder / "figures" / name / THUMBNAIL).exists()
    }


def draw_versions(folder: Path) -> Path:
    """Return the thumbnail of two versions of BBR, each beside CUBIC, drawn in a folder."""
    rates = {"bbr": (7.2, 2.1), "bbr2": (5.6, 4.0)}
    runs = gather(
        *(
            make_run(10 * place + run, {"cubic": cubic + 0.2 * run, cc: own - 0.2 * run})
            for place, (cc, (own, cubic)) in enumerate(rates.items())
            for run in range(4)
        )
    )
    evaluation = write_evaluation(folder, kind="rate_by_version", title="Two versions of BBR, each beside CUBIC")
    plot_declaration(read_declaration(evaluation, "f"), build_database(folder, runs), folder / "figure")
    return folder / "figure" / THUMBNAIL


def draw_rtts(folder: Path) -> Path:
    """Return the thumbnail of round-trip times of RPCs, drawn in a folder."""
    figure = {"kind": "rpc_rtt_over_time", "title": "Round-trip times of requests", "where": "TRUE"}
    database = build_rpc_database({"a.flent.gz": FLENT.read_bytes()}, folder, figures={"f": figure})
    plot_declaration(read_declaration(database.evaluation, "f"), database.path, folder / "figure")
    return folder / "figure" / THUMBNAIL


DRAWN_HERE = {"rate_by_version": draw_versions, "rpc_rtt_over_time": draw_rtts}


def write_picture(thumbnail: Path, picture: Path) -> None:
    """Write a thumbnail smaller and in few colours."""
    with Image.open(thumbnail) as image:
        small = image.convert("RGB")
        small.thumbnail(SIZE)
        # A folder that a rule needs is newer once a file in it is replaced, not when one is written over.
        picture.unlink(missing_ok=True)
        small.quantize(COLOURS, Image.Quantize.MAXCOVERAGE).save(picture, optimize=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pictures", type=Path, help="folder to write <kind>.png into")
    parser.add_argument(
        "results", type=Path, nargs="+", help="results of an evaluation of evaluations/, with its figures"
    )
    given = parser.parse_args()
    with TemporaryDirectory() as made:
        drawn = find_thumbnails(given.results)
        for kind in DRAWN_HERE.keys() - drawn.keys():
            (folder := Path(made) / kind).mkdir()
            drawn[kind] = DRAWN_HERE[kind](folder)
        if missing := BUILDERS.keys() - drawn.keys():
            raise SystemExit(f"none of these results has a figure of: {', '.join(sorted(missing))}")
        given.pictures.mkdir(exist_ok=True)
        for kind in BUILDERS:
            write_picture(drawn[kind], given.pictures / f"{kind}.png")

"""Thumbnails are at least as large as the gallery shows them, and have the whole of a flat figure."""

from pathlib import Path

import altair as alt
import polars as pl
import pytest
from PIL import Image

from ccreport.figures.kit.figure import Figure
from ccreport.figures.write import THUMBNAIL_RATIO, THUMBNAIL_WIDTH, write_files


@pytest.mark.parametrize(("width", "height"), [(150, 100), (900, 60), (800, 900)])
def test_no_thumbnail_is_smaller_than_it_is_shown(width: int, height: int, tmp_path: Path) -> None:
    data = pl.DataFrame({"x": [1, 2]})
    chart = alt.Chart(data).mark_point().encode(x="x").properties(width=width, height=height)
    write_files(Figure(chart, data, "A caption.", "An alternative."), tmp_path)
    with Image.open(tmp_path / "thumbnail.png") as thumbnail, Image.open(tmp_path / "figure.png") as figure:
        assert thumbnail.width >= THUMBNAIL_WIDTH
        assert thumbnail.height >= round(THUMBNAIL_RATIO * thumbnail.width)
        drawn = thumbnail.height / thumbnail.width > figure.height / figure.width + 0.05
        # Paper above and below, of a flat figure alone.
        assert drawn == (height < THUMBNAIL_RATIO * width)
        assert thumbnail.convert("L").tobytes()[0] > 250


def test_a_thumbnail_has_no_title_as_the_gallery_says_it_below(tmp_path: Path) -> None:
    data = pl.DataFrame({"x": [1, 2]})
    chart = alt.Chart(data).mark_point().encode(x="x").properties(width=500, height=500)
    heights = []
    titled = chart.properties(title=alt.TitleParams(["A title"], fontSize=20))
    for name, drawn in (("plain", chart), ("titled", titled)):
        (tmp_path / name).mkdir()
        write_files(Figure(drawn, data, "C.", "A."), tmp_path / name)
        with Image.open(tmp_path / name / "thumbnail.png") as thumbnail:
            heights.append(thumbnail.height / thumbnail.width)
    assert heights[1] < heights[0] + 0.02

"""The page that explains campaigns, against what reads them."""

import html
import re
from pathlib import Path

from archives import ROOT

from ccreport.collect.declare.campaign import load_campaign
from ccreport.collect.declare.planning import plan_campaign
from ccreport.core.declarations import load_yaml
from ccreport.report.archive_fragments.campaign_keys import list_keys, render_campaign_keys

ROW = re.compile(r"<tr>(<td>.*?)</tr>")
PAGE = (ROOT / "reports/collect.qmd").read_text(encoding="utf-8")


def list_rows() -> dict[str, list[str]]:
    """Return the cells of the rendered rows, without their marks, by the first one."""
    rows = [re.findall(r"<td>(.*?)</td>", row) for row in ROW.findall(render_campaign_keys())]
    cells = [[html.unescape(re.sub(r"<[^>]*>", "", cell)) for cell in row] for row in rows]
    return {row[0]: row for row in cells}


def test_every_key_of_the_schema_is_listed() -> None:
    schema = load_yaml(ROOT / "schemas/campaign.schema.yaml")
    listed = set(list_rows())
    settings = schema["properties"]["defaults"]["properties"]
    assert {key.partition(".")[0].partition("[")[0] for key in listed} >= set(settings)
    assert {"testbed.calibration.on_failure", "instruments.capture.snap_bytes", "clients[].start_s"} <= listed
    assert {"sessions[].label", "sessions[].jobs[].for_each"} <= listed
    assert len(listed) == len([*list_keys(settings), *list_keys({"testbed": schema["properties"]["testbed"]})]) + 4


def test_bounds_and_defaults_are_those_of_the_schema() -> None:
    cells = list_rows()
    assert cells["iterations_count"][1:3] == ["integer: 1 to 10,000", "1"]
    assert cells["buffer_bdp"][1:3] == ["number: above 0 to 1,000", "null"]
    assert cells["queue.discipline"][1:3] == ["fifo, fq_codel, red, cake", "fifo"]


def test_the_declaration_of_the_page_can_be_run(tmp_path: Path) -> None:
    (block,) = (found for found in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if "sessions:" in found)
    assert len(block.splitlines()) == 25
    (tmp_path / "own.yaml").write_text(block, encoding="utf-8")
    runs = plan_campaign(load_campaign(tmp_path / "own.yaml"), "own").runs
    # 3 iterations of 3 algorithms x 2 RTTs, and of one condition more.
    assert len(runs) == 21
    # 0.5 x 40 Mbit/s x 40 ms / 8
    assert {run.bottleneck.buffer_bytes for run in runs if run.bottleneck} == {100_000}


def test_keys_that_the_page_names_exist() -> None:
    listed = {part for key in list_rows() for part in re.split(r"[.\[\]]+", key)}
    for key in re.findall(r"`(\w+_(?:mbps|bytes|bdp|ms|pct|direction|count|parameters|sweep))`", PAGE):
        assert key in listed, key


def test_a_key_that_is_a_value_or_has_keys_is_listed_with_these() -> None:
    archive = {"type": ["string", "object"], "properties": {"path": {"type": "string"}}, "default": "x"}
    nested = {"type": "object", "properties": {"loss": {"type": "number"}}}
    assert [path for path, _ in list_keys({"archive": archive, "path": nested})] == [
        "archive",
        "archive.path",
        "path.loss",
    ]

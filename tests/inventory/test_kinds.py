"""Names of raw files that are told by themselves, as the documentation lists them and as readers declare them."""

import re

from archives import ROOT

from ccreport.core.declarations import load_yaml
from ccreport.inventory.kinds import ITEMS, KINDS, SESSION_FILES

PAGE = (ROOT / "reports/own_archive.qmd").read_text(encoding="utf-8")


def test_the_documented_names_are_those_that_readers_declare() -> None:
    table = PAGE.partition("\n| name | what |\n")[2].partition("\n\n")[0]
    names = [name for line in table.splitlines() for name in re.findall(r"`([^`]+)`", line.split("|")[1])]
    # src-cmd-2 is the second client's, and a dump of an edge network is called as the last row says.
    items = {name.partition(":")[0] for name in names if ":" in name} - {"src-cmd-2", "ss-neit"}
    assert items == {*ITEMS}
    files = [name.replace("…", "").replace("<host>", "h").rpartition("/")[2].rstrip(":") for name in names]
    assert {*SESSION_FILES} <= {*files}
    for kind in KINDS.values():
        if kind.file_name is not None:
            assert any(kind.file_name.fullmatch(name) for name in files), kind.name


def test_the_documented_kinds_of_layouts_are_those_of_their_schema() -> None:
    sentence = PAGE.partition("\n`kind` is one of ")[2].partition(".\n")[0]
    listed = re.findall(r"`([^`]+)`", sentence.replace("(output of `tc -s qdisc`)", ""))
    pattern = load_yaml(ROOT / "schemas/layout.schema.yaml")["properties"]["files"]["items"]["properties"]
    assert sorted(listed) == sorted(pattern["kind"]["enum"])

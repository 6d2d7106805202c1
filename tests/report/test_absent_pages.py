"""Pages without content take their sections and the links to both with them."""

import re
import shutil
from pathlib import Path

from archives import ROOT

from ccreport.report.site.absent_pages import leave_out_pages


def test_a_report_without_claims_explains_none(tmp_path: Path) -> None:
    for page in (ROOT / "reports").glob("*.qmd"):
        shutil.copyfile(page, tmp_path / page.name)
    assert "{{< include fragments/words.md >}}" in (tmp_path / "methods.qmd").read_text(encoding="utf-8")
    leave_out_pages(tmp_path, ["claims", "reproduction"])
    pages = {page.name: page.read_text(encoding="utf-8") for page in tmp_path.glob("*.qmd")}
    assert "claims.qmd" not in pages
    assert "Which claims hold" not in pages["index.qmd"]
    assert "Which runs were left out" in pages["index.qmd"]
    assert "fragments/words.md" not in pages["methods.qmd"]
    assert "## Suspect runs" in pages["methods.qmd"]
    assert "the table of words in `src" in pages["evaluations.qmd"]
    assert [name for name, text in pages.items() if "sec-claims" in text or "sec-reproduction" in text] == []


def test_no_link_leads_to_a_table_or_figure_of_another_page_which_only_some_archives_have() -> None:
    files = [*(ROOT / "src/ccreport").rglob("*.py"), *(ROOT / "reports").glob("*.qmd")]
    # [list of suspect runs](ledger.qmd#suspects), a section, is there always.
    labels = [label for file in files for label in re.findall(r"\.qmd#([\w-]+)", file.read_text(encoding="utf-8"))]
    assert {"suspects", "tries", "cpu-bound"} <= {*labels}
    assert [label for label in labels if label.startswith(("tbl-", "fig-"))] == []

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import needs_chromium, open_chromium
from playwright.sync_api import Page

pytestmark = [pytest.mark.slow, needs_chromium]

ROOT = Path(__file__).parents[2]
# A table of 24 rows in two groups, as great_tables marks them up; 0 is a dash, and the least number close to it.
VALUES = {n: f"{n * 7 % 24 * 1000:,}" for n in range(24)} | {0: "–", 7: "9.5×10⁻⁷"}
ROWS = "".join(
    ('<tr class="gt_group_heading_row"><th colspan="3">near</th></tr>' if n == 0 else "")
    + ('<tr class="gt_group_heading_row"><th colspan="3">far</th></tr>' if n == 12 else "")
    + f"<tr><td>job{n}</td><td>{VALUES[n]}</td><td>{'BBR' if n % 2 else 'CUBIC'}</td></tr>"
    for n in range(24)
)
PAGE = f"""<!DOCTYPE html><html lang="en"><meta charset="utf-8">
<link rel="stylesheet" href="styles.css"><script src="tables.js" defer></script>
<div class="table-scroll" role="region" aria-label="Jobs" tabindex="0"><table class="gt_table published">
<thead><tr><th rowspan="2">Job</th><th colspan="2">What</th></tr><tr><th>Bytes</th><th>Algorithm</th></tr></thead>
<tbody>{ROWS}</tbody></table></div>
<div class="table-scroll"><table><thead><tr><th>A</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table></div>"""
SHOWN = (
    "[...document.querySelectorAll('tbody')[0].rows].filter(row => row.offsetHeight).map(row => row.innerText.trim())"
)

COUNT_LINES = """cell => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return new Set([...range.getClientRects()].map(line => Math.round(line.bottom))).size;
}"""


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    (tmp_path / "page.html").write_text(PAGE, encoding="utf-8")
    for source in ("reports/styles.css", "src/ccreport/report/site/tables.js"):
        (tmp_path / Path(source).name).write_bytes((ROOT / source).read_bytes())
    with open_chromium() as browser:
        page = browser.new_page()
        page.goto((tmp_path / "page.html").as_uri())
        yield page


def test_a_heading_sorts_by_numbers_then_back_to_the_order_as_it_was(page: Page):
    before = page.evaluate(SHOWN)
    assert before[:2] == ["near", "job0\t–\tCUBIC"]
    # The lowest heading of a column sorts it; that of two columns does not.
    assert page.locator("thead button").all_inner_texts() == ["Job", "Bytes", "Algorithm"]
    button = page.get_by_role("button", name="Bytes")
    button.click()
    # 14 * 7 % 24 = 2: numbers, not letters. Rows say which group they are of; a dash is last.
    assert page.evaluate(SHOWN)[:2] == ["near · job7\t9.5×10⁻⁷\tBBR", "far · job14\t2,000\tCUBIC"]
    assert page.evaluate(SHOWN)[-1] == "near · job0\t–\tCUBIC"
    assert page.locator("th[aria-sort=ascending]").inner_text().startswith("Bytes")
    button.click()
    assert page.evaluate(SHOWN)[0].split("\t")[1] == "23,000"
    assert page.evaluate(SHOWN)[-1] == "near · job0\t–\tCUBIC"
    button.click()
    assert page.evaluate(SHOWN) == before


def test_a_bound_is_sorted_beside_the_number_that_it_bounds(page: Page, tmp_path: Path):
    ordered = ["< 0.1", "0.1", "0.315", "+2", "≈ 3", "500", "> 500", *map(str, range(1000, 1014)), "2,655"]
    rows = "".join(f"<tr><td>{value}</td></tr>" for value in ("–", *ordered[1::2], "", *ordered[::2]))
    table = (
        f'<table class="published"><thead><tr><th class="gt_right">Runs</th></tr></thead><tbody>{rows}</tbody></table>'
    )
    text = f'{PAGE[: PAGE.index("<div")]}<div class="table-scroll">{table}</div>'
    (tmp_path / "bounds.html").write_text(text, encoding="utf-8")
    page.goto((tmp_path / "bounds.html").as_uri())
    head = page.locator("thead")
    width = head.evaluate("head => head.offsetWidth")
    for expected in (ordered, ordered[::-1]):
        page.get_by_role("button", name="Runs").click()
        shown = page.locator("tbody td").all_inner_texts()
        assert shown[: len(ordered)] == expected
        # What has no value is last, in either direction.
        assert set(shown[len(ordered) :]) == {"–", ""}
        assert head.evaluate("head => head.offsetWidth") == width
        assert page.evaluate("(box => box.scrollWidth === box.clientWidth)(document.querySelector('.table-scroll'))")


def test_a_field_filters_rows_by_all_words_and_by_their_group(page: Page):
    field = page.get_by_role("searchbox", name="Filter rows: Jobs")
    field.fill("bbr far")
    shown = page.evaluate(SHOWN)
    assert (shown[0], len(shown)) == ("far", 7)
    assert page.locator(".table-tools output").inner_text() == "6 of 24 rows"
    field.fill("")
    assert len(page.evaluate(SHOWN)) == 26


def test_a_table_says_how_many_rows_it_has_and_whether_they_scroll(page: Page):
    count = page.locator(".table-tools output")
    assert count.inner_text() == "24 rows"
    page.evaluate("document.querySelector('.table-scroll').style.maxHeight = '20rem'")
    page.wait_for_function("document.querySelector('.table-tools output').textContent === '24 rows; scroll'")
    page.get_by_role("searchbox", name="Filter rows: Jobs").fill("job0")
    assert count.inner_text() == "1 of 24 rows"
    # All of its rows are in sight where only its notes are not.
    page.get_by_role("searchbox", name="Filter rows: Jobs").fill("")
    notes = "<tfoot><tr><td colspan='3'><div style='height: 40rem'>Notes.</div></td></tr></tfoot>"
    page.evaluate("notes => document.querySelector('table').insertAdjacentHTML('beforeend', notes)", notes)
    page.evaluate("document.querySelector('.table-scroll').style.maxHeight = '60rem'")
    page.wait_for_function("document.querySelector('.table-tools output').textContent === '24 rows'")
    assert page.evaluate("(box => box.scrollHeight > box.clientHeight)(document.querySelector('.table-scroll'))")


def test_a_verdict_is_chosen_exactly_and_a_link_asks_for_rows(page: Page, tmp_path: Path):
    verdicts = ("holds", "contradicted", "holds", "differs only in size")
    marks = [f"<strong>{verdicts[n % 4]}</strong>" for n in range(22)]
    rows = "".join(f"<tr><td>c{n}</td><td>{mark}<br><small>holds</small></td></tr>" for n, mark in enumerate(marks))
    table = f"<table><thead><tr><th>Claim</th><th>Verdict</th></tr></thead><tbody>{rows}</tbody></table>"
    text = PAGE[: PAGE.index("<div")] + f'<section id="claims"><div class="table-scroll">{table}</div></section>'
    (tmp_path / "claims.html").write_text(text, encoding="utf-8")
    page.goto((tmp_path / "claims.html").as_uri())
    page.get_by_role("combobox", name="Verdict").select_option("holds")
    assert page.locator(".table-tools output").inner_text() == "11 of 22 rows"
    # Of other tables of the page nothing is asked.
    for asked, count in (
        ("?rows=size#claims", "5 of 22 rows"),
        ("?rows=only#others", "22 rows"),
        # 1, 5, 9, 13, 17, 21, and 3, 7, 11, 15, 19.
        ("?verdict=contradicted#claims", "6 of 22 rows"),
        ("?verdict=differs+only+in+size#claims", "5 of 22 rows"),
        ("?verdict=nonsense#claims", "22 rows"),
    ):
        page.goto(f"{(tmp_path / 'claims.html').as_uri()}{asked}")
        assert page.locator(".table-tools output").inner_text() == count


def test_a_short_table_is_filtered_where_a_link_asks_for_it(page: Page, tmp_path: Path):
    rows = "".join(f"<tr><td>c{n}</td><td>{'holds' if n else 'fails'}</td></tr>" for n in range(3))
    table = f"<table><thead><tr><th>Claim</th><th>Verdict</th></tr></thead><tbody>{rows}</tbody></table>"
    text = PAGE[: PAGE.index("<div")] + f'<section id="claims"><div class="table-scroll">{table}</div></section>'
    (tmp_path / "few.html").write_text(text, encoding="utf-8")
    page.goto(f"{(tmp_path / 'few.html').as_uri()}?verdict=holds#claims")
    assert page.locator(".table-tools output").inner_text() == "2 of 3 rows"
    page.goto(f"{(tmp_path / 'few.html').as_uri()}#claims")
    assert page.locator(".table-tools").count() == 0


def test_a_short_table_stays_as_it_is(page: Page):
    assert page.locator("input").count() == 1
    assert page.locator("table").nth(1).locator("button").count() == 0


@pytest.mark.parametrize(
    ("kind", "markup"),
    [("gt_table published", "{}"), ("data", "<code>{}</code>"), ("data", '<code class="long">{}</code>')],
)
def test_on_a_phone_a_job_is_whole_and_a_longer_name_breaks_in_its_own_column(page: Page, kind: str, markup: str):
    page.set_viewport_size({"width": 390, "height": 844})
    table, cell = page.locator("table").first, page.locator("tbody td").first
    table.evaluate("(table, kind) => { table.className = kind; }", kind)
    # Columns beside it that need more room than there is.
    page.evaluate("for (const cell of document.querySelectorAll('td + td')) cell.textContent = '0'.repeat(40)")
    cell.evaluate("(cell, name) => { cell.innerHTML = name; }", markup.format("capture_cubic_p1_lossnone"))
    assert cell.evaluate(COUNT_LINES) == 1
    cell.evaluate("(cell, name) => { cell.innerHTML = name; }", markup.format("retransmits_" * 5))
    assert cell.evaluate("cell => cell.scrollWidth <= cell.clientWidth && cell.clientWidth < 220")

"""Blocks of raw HTML: set aside and put back, a page is what pandoc makes of it with them."""

from pathlib import Path

from ccreport.report.markup.escape import escape_text
from ccreport.report.markup.html_blocks import Line, put_back, set_aside, split_blocks
from ccreport.report.site.pandoc import Pandoc

PAGE = """Before <!-- a comment -->

```{=html}
<p>One &amp; two
```

::: {.box}
````{=html}
<pre>
```
</pre>
````
:::

```{=html}
```

~~~~ markdown
```{=html}
<b>quoted</b>
~~~
```
~~~~~"""
OPTIONS = ("--from=markdown", "--to=html")


def make_lines(text: str) -> list[Line]:
    return [Line(one, "page.qmd", number) for number, one in enumerate(text.split("\n"), start=1)]


def test_a_block_is_whole_with_its_fences() -> None:
    blocks = [([line.text for line in block], html) for block, html in split_blocks(make_lines(PAGE))]
    assert [(block, html) for block, html in blocks if len(block) > 1] == [
        (["```{=html}", "<p>One &amp; two", "```"], "<p>One &amp; two"),
        (["````{=html}", "<pre>", "```", "</pre>", "````"], "<pre>\n```\n</pre>"),
        (["```{=html}", "```"], ""),
        (["~~~~ markdown", "```{=html}", "<b>quoted</b>", "~~~", "```", "~~~~~"], None),
    ]
    assert "\n".join(line for block, _ in blocks for line in block) == PAGE


def test_the_lines_of_a_block_that_does_not_end_are_all_there() -> None:
    ((block, html),) = split_blocks(make_lines("```{=html}\n<p>\n"))
    assert ([line.text for line in block], html) == (["```{=html}", "<p>", ""], None)


def test_a_page_is_as_pandoc_makes_it() -> None:
    pandoc = Pandoc()
    lines, contents = set_aside(make_lines(PAGE))
    assert contents == ["<p>One &amp; two", "<pre>\n```\n</pre>", ""]
    assert "pre>" not in "".join(line.text for line in lines)
    whole = pandoc.convert(make_lines(PAGE), OPTIONS)
    # pandoc leaves a line for a block of nothing.
    assert put_back(pandoc.convert(lines, OPTIONS), contents).split() == whole.split()


def test_blocks_with_nothing_between_them_are_one() -> None:
    text = "```{=html}\n<ul>\n```\n\n\n```{=html}\n</ul>\n```\n\nText\n\n```{=html}\n<hr>\n```\n\n"
    lines, contents = set_aside(make_lines(text))
    assert contents == ["<ul>\n</ul>", "<hr>"]
    pandoc = Pandoc()
    assert put_back(pandoc.convert(lines, OPTIONS), contents) == pandoc.convert(make_lines(text), OPTIONS)
    assert [line.number for line in lines if line.text in ("Text", "<!--block 1-->")] == [10, 12]


def test_lines_of_a_page_keep_their_numbers() -> None:
    lines, _ = set_aside(make_lines(PAGE))
    assert [(line.number, line.text) for line in lines if line.text.startswith(("Before", "<!--block", ":::"))] == [
        *((1, "Before <!-- a comment -->"), (3, "<!--block 0-->"), (7, "::: {.box}")),
        *((8, "<!--block 1-->"), (13, ":::"), (15, "<!--block 2-->")),
    ]


def test_text_of_an_archive_is_no_mark() -> None:
    lines, contents = set_aside(make_lines(f"{escape_text('<!--block 0-->')}\n\n```{{=html}}\nsecret\n```"))
    page = put_back(Pandoc().convert(lines, OPTIONS), contents)
    assert page == "<p>&lt;!--block 0--&gt;</p>\nsecret\n"


def test_where_only_blocks_changed_a_page_is_not_converted_again(tmp_path: Path) -> None:
    for rate in ("4.2", "5.3"):
        lines, contents = set_aside(make_lines(f"Rates\n\n```{{=html}}\n<b>{rate}</b>\n```"))
        assert f"<b>{rate}</b>" in put_back(Pandoc(tmp_path).convert(lines, OPTIONS), contents)
    assert len(list(tmp_path.iterdir())) == 1

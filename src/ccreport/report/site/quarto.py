"""The Quarto renderer: `quarto render` of a website project, in an environment of its own.

A page takes Quarto half a second at least, one after the other, and one of much HTML takes seconds. So finished HTML
is set aside, processors share the pages, and what was made of a page is kept until its text or the settings change.

Quarto writes beside its sources and caches below HOME; both are folders of ours here. It sends nothing anywhere; the
Deno inside it would look for updates, which is switched off. Its pages get a content security policy that allows the
scripts of Quarto's own (`content_security`). conda's Quarto finds its parts by QUARTO_* and DENO_* variables, which are
passed on.
"""

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from ccreport.core.atomic_files import replace_text
from ccreport.core.hard_links import link_tree
from ccreport.core.identifiers import short_hash
from ccreport.rebuild.batches import IGNORE_CACHES
from ccreport.report.markup.blocks import BLOCKS_SCRIPT
from ccreport.report.markup.content_security import (
    BLANK_PAGE,
    hash_handlers,
    hash_scripts,
    make_quarto_policy,
    set_policy,
)
from ccreport.report.markup.html_blocks import put_back, set_aside
from ccreport.report.site.links import PageError
from ccreport.report.site.project_pages import leave_out_print, link_resources, list_styles, read_page, read_yaml
from ccreport.report.site.search import write_search

# Before 1.4 Quarto ran shortcodes that only came about when text was decoded (see escape.py).
OLDEST: Final = (1, 4)
VERSION: Final = re.compile(r"(\d+)\.(\d+)")
SETTINGS: Final = ("QUARTO_", "DENO_")
# A profile or a log file of the caller's would change what is made.
LEFT_OUT: Final = ("QUARTO_PROFILE", "QUARTO_LOG", "QUARTO_LOG_LEVEL", "QUARTO_PROJECT_DIR")

BLANK: Final = "without-archive"
SITE: Final = "_site"
LIBRARIES: Final = "site_libs"
KEY_DIGITS: Final = 32
# The font of Bootstrap's icons, of which our style sheet has the two that pages show.
ICON_FILES: Final = "bootstrap/bootstrap-icons*"
ICON_LINK: Final = re.compile(r"<link [^>]*/bootstrap-icons\.css[^>]*>\n?")
# Folders that pages show pictures of.
IMAGES: Final = ("figures", "kinds")
# Each part starts a Quarto, which takes as long as a few pages.
PAGES_OF_A_PART: Final = 8
# Beside the contents of a page it is a second region of its kind, which a reader of the screen has to tell apart.
BAR: Final = '<nav class="navbar navbar-expand-lg "'
# ](methods.qmd#methods-loss) · href: methods.qmd
PAGE_LINK: Final = re.compile(r"(\]\(|\bhref: )([\w.-]+)\.qmd\b")

STYLES: Final = Path(__file__).with_name("quarto.css")
# Numbers figures and tables as the embedded renderer does, before Quarto would, and keeps percentages on one line.
MARKUP: Final = Path(__file__).parents[1] / "markup"
FILTERS: Final = {MARKUP / "floats.lua": "pre-ast", MARKUP / "percentages.lua": "post-quarto"}
# As the embedded renderer's template has them; without an icon browsers ask for /favicon.ico.
HEAD: Final = f'<link rel="icon" href="data:,">\n<script src="{BLOCKS_SCRIPT.name}"></script>'
PAPER: Final = "report.pdf"
PAPER_LINKS: Final = f"[This report as PDF]({PAPER}) · [Supplement](supplement.pdf)"


@dataclass(frozen=True)
class Quarto:
    """A Quarto that is installed."""

    program: str
    version: str


def find_quarto(home: Path) -> Quarto | None:
    """Return the Quarto on the PATH, none where there is none; raise PageError where it is too old or broken."""
    program = shutil.which("quarto")
    if program is None:
        return None
    printed = _run([program, "--version"], home, home).strip()
    version = VERSION.match(printed)
    # Builds from source call themselves 99.9.9.
    if version is None or (int(version[1]), int(version[2])) < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        raise PageError(f"Quarto {printed or 'of unknown version'} cannot be used; install {wanted} or newer")
    return Quarto(program, printed)


def add_to_theme(project: Path, settings: dict[str, Any]) -> None:
    """Add to a project and its settings what Quarto's pages lack beside those of the embedded renderer."""
    for asset in (STYLES, BLOCKS_SCRIPT):
        shutil.copyfile(asset, project / asset.name)
    options = settings["format"]["html"]
    options["css"] = [options["css"], STYLES.name]
    options["include-in-header"] = {"text": HEAD}
    options["filters"] = [{"path": path.name, "at": place} for path, place in FILTERS.items()]
    if (project / PAPER).exists():
        settings["website"]["page-footer"] += f" {PAPER_LINKS}"


def render_quarto(quarto: Quarto, project: Path, home: Path, output: Path, kept: Path) -> None:
    """Render the website project in a folder into the folder `output`; Quarto keeps its caches in `home`.

    Finished HTML does not pass through Quarto. `kept` is a folder with what it made of this site's pages
    before: those of which neither text nor settings changed are not rendered again. Raise PageError with Quarto's own
    message where it fails.
    """
    (project / f"{BLANK}.qmd").write_text(BLANK_PAGE, encoding="utf-8")
    site, variables = read_yaml(project / "_quarto.yml"), read_yaml(project / "_variables.yml")
    pages = {
        page.stem: set_aside(leave_out_print(read_page(project, page.name, variables)))
        for page in sorted(project.glob("*.qmd"))
    }

    def link_pages(text: str) -> str:
        """Links to pages of another part are unknown to Quarto, which warns of each."""
        return PAGE_LINK.sub(lambda link: f"{link[1]}{link[2]}.{'html' if link[2] in pages else 'qmd'}", text)

    site = yaml.safe_load(link_pages(yaml.safe_dump(site, sort_keys=False)))
    texts = {name: link_pages("\n".join(line.text for line in lines)) for name, (lines, _) in pages.items()}
    filters = "\n".join(path.read_text(encoding="utf-8") for path in FILTERS)
    store = kept / short_hash(f"{quarto.version}\n{yaml.safe_dump(site)}\n{filters}", KEY_DIGITS)
    made = {name: store / f"{short_hash(text, KEY_DIGITS)}.html" for name, text in texts.items()}
    store.mkdir(parents=True, exist_ok=True)
    missing = [name for name, path in made.items() if not path.exists() or IGNORE_CACHES in os.environ]
    _render_missing(quarto, project, home, site, {name: (texts[name], made[name]) for name in missing})
    _prune(kept, {store, store / LIBRARIES, *made.values()})
    output.mkdir(parents=True, exist_ok=True)
    for name, (_, blocks) in pages.items():
        text = put_back(made[name].read_text(encoding="utf-8"), blocks)
        text = ICON_LINK.sub("", text.replace(BAR, f'{BAR} aria-label="Site"', 1))
        (output / f"{name}.html").write_text(text, encoding="utf-8")
    if (store / LIBRARIES).exists():
        link_tree(store / LIBRARIES, output / LIBRARIES)
        for path in (output / LIBRARIES).glob(ICON_FILES):
            path.unlink()
    link_resources(project, site, output)
    blank = output / f"{BLANK}.html"
    page = blank.read_text(encoding="utf-8")
    blank.unlink()
    set_policy(output, make_quarto_policy(hash_scripts(page), hash_handlers(page)))
    write_search(output)


def _render_missing(
    quarto: Quarto, project: Path, home: Path, site: dict[str, Any], missing: dict[str, tuple[str, Path]]
) -> None:
    """Render pages by their names, each with its text and the file that is made of it, in a Quarto for each processor.

    Quarto takes one page after the other; each part is a project of its own, with the same settings.
    """
    longest_first = sorted(missing, key=lambda name: (-len(missing[name][0]), name))
    parts_count = min(os.cpu_count() or 1, -(-len(missing) // PAGES_OF_A_PART))

    def render_part(number: int) -> None:
        part, own_home = (home.with_name(f"{folder.name}-{number}") for folder in (project, home))
        own_home.mkdir()
        part.mkdir()
        names = longest_first[number::parts_count]
        for name in names:
            (part / f"{name}.qmd").write_text(missing[name][0], encoding="utf-8")
        for folder in IMAGES:
            if (project / folder).exists():
                link_tree(project / folder, part / folder)
        for source in [*(project / style for style in list_styles(site)), *FILTERS]:
            shutil.copyfile(source, part / source.name)
        own = site | {"project": {"type": "website", "output-dir": SITE, "render": [f"{name}.qmd" for name in names]}}
        (part / "_quarto.yml").write_text(yaml.safe_dump(own, sort_keys=False), encoding="utf-8")
        _run([quarto.program, "render", "."], part, own_home)
        for name in names:
            page = part / SITE / f"{name}.html"
            if not page.exists():
                raise PageError(f"Quarto made no page of {name}.qmd")
            replace_text(missing[name][1], page.read_text(encoding="utf-8"))
        if (libraries := part / SITE / LIBRARIES).exists():
            shutil.copytree(libraries, missing[names[0]][1].parent / LIBRARIES, dirs_exist_ok=True)

    with ThreadPoolExecutor(max(1, parts_count)) as threads:
        list(threads.map(render_part, range(parts_count)))


def _prune(kept: Path, used: set[Path]) -> None:
    """Remove what is kept of other versions, settings and pages."""
    for path in [*kept.glob("*"), *kept.glob("*/*")]:
        if path not in used and path.is_dir():
            shutil.rmtree(path)
        elif path not in used:
            path.unlink(missing_ok=True)


def _make_environment(home: Path) -> dict[str, str]:
    passed_on = {
        name: value for name, value in os.environ.items() if name.startswith(SETTINGS) and name not in LEFT_OUT
    }
    return passed_on | {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "TMPDIR": str(home),
        "XDG_CACHE_HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "XDG_DATA_HOME": str(home),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "NO_COLOR": "1",
        "DENO_NO_UPDATE_CHECK": "1",
        "DO_NOT_TRACK": "1",
    }


def _run(command: list[str], folder: Path, home: Path) -> str:
    finished = subprocess.run(  # noqa: S603 (no shell, fixed arguments)
        command,
        cwd=folder,
        env=_make_environment(home),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if finished.returncode:
        message = (finished.stderr + finished.stdout).strip()
        raise PageError(f"`{' '.join(['quarto', *command[1:]])}` failed:\n{message}")
    # Warnings of what succeeded belong in the log.
    print(finished.stderr, end="", file=sys.stderr)
    return finished.stdout

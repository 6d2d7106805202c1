"""Which source files a module runs: itself and all it imports of this package, directly or not.

A rule has a hash of them, so that an edit reruns what depends on it and nothing else.
"""

import ast
import re
from functools import cache
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parents[1]
# Snakemake waits for this whenever it starts, and to parse whole modules takes four times as long.
STATEMENT: Final = re.compile(r"^[ \t]*((?:from|import) (?:[^\n(]*\([^)]*\)|[^\n]*))", re.MULTILINE)
# A module that calls this imports the packages beside it.
FINDS_PACKAGES: Final = "pkgutil.iter_modules("


@cache
def _imports_of(module: Path, package: Path) -> frozenset[Path]:
    names: set[str] = set()
    text = module.read_text(encoding="utf-8")
    for statement in STATEMENT.findall(text):
        try:
            (node,) = ast.parse(statement).body
        except SyntaxError:
            continue  # a line of a text
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    files = {_file_of(name, package) for name in names if name.split(".")[0] == package.name}
    if FINDS_PACKAGES in text:
        files.update(module.parent.glob("*/__init__.py"))
    return frozenset(file for file in files if file is not None)


@cache
def _file_of(name: str, package: Path) -> Path | None:
    place = package.parent.joinpath(*name.split("."))
    candidates = (place.with_suffix(".py"), place / "__init__.py")
    return next((path for path in candidates if path.is_file()), None)


def list_imports(module: str, package: Path = PACKAGE) -> list[Path]:
    """Return the files of a module such as `ccreport.ingest.ss.reader` and of all its imports, sorted.

    `package` is the folder of the package, this one or a copy of it. Raise ModuleNotFoundError where it has no such
    module.
    """
    start = _file_of(module, package)
    if start is None:
        raise ModuleNotFoundError(module)
    found, open_files = {start}, [start]
    while open_files:
        new = _imports_of(open_files.pop(), package) - found
        found |= new
        open_files.extend(new)
    return sorted(found)

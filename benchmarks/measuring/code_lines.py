"""Lines of code: those that hold code, so neither blank ones, nor comments, nor docstrings."""

import ast
import io
import tokenize
from pathlib import Path

NO_CODE = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
)
# YAML, Snakemake, shell and SQL.
COMMENT_STARTS = ("#", "--")


def count_python_lines(source: str) -> int:
    """Return the lines of Python that hold code; a string over several lines counts with all of them."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and ast.get_docstring(
            node, clean=False
        ):
            text = node.body[0]
            lines -= set(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    return len(lines)


def count_text_lines(source: str) -> int:
    """Return the lines of YAML, SQL, shell or Snakemake that are neither blank nor a comment."""
    stripped = (line.strip() for line in source.splitlines())
    return sum(1 for line in stripped if line and not line.startswith(COMMENT_STARTS))


def count_lines(path: Path) -> int:
    """Return the lines of code of one file, by its kind."""
    source = path.read_text(encoding="utf-8")
    return count_python_lines(source) if path.suffix == ".py" else count_text_lines(source)

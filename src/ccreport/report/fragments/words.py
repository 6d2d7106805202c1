"""Words: the table of the methods page that says how a publication's words are read as numbers."""

from ccreport.core.words import WORDS
from ccreport.report.markup.blocks import render_table, text


def render_words() -> str:
    """Return the words with the phrases that are read as them, their bounds and why."""
    rows = [[text(name), text(word.phrases), text(word.means), text(word.why)] for name, word in WORDS.items()]
    return render_table(("Word", "Read as it", "Bound", "Why"), rows, title="Words as numbers")

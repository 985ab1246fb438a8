"""The glossary of ARCHITECTURE.md: few entries, one meaning for a word, and each word is in use."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ENTRIES_MAX = 40


def entries() -> list[str]:
    """The terms of each row, as written: one, or several that mean the same."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    section = text.partition("\n## Glossary\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1].strip() for line in section.splitlines() if line.startswith("| ")]
    assert rows[0] == "Term"
    return rows[1:]


def terms() -> list[str]:
    return [term for entry in entries() for term in entry.split(", ")]


def test_the_glossary_has_at_most_forty_entries_in_the_order_of_the_alphabet():
    assert 20 <= len(entries()) <= ENTRIES_MAX
    assert entries() == sorted(entries(), key=str.casefold)


def test_a_word_has_one_entry():
    assert sorted(set(terms())) == sorted(terms())


def test_every_term_is_used_by_the_code():
    source = "\n".join(path.read_text() for path in (ROOT / "src" / "hansa").rglob("*.py")).casefold()
    unused = [
        term for term in terms() if not re.search(rf"\b_?{term.casefold().replace(' ', '[ _]')}", source)
    ]
    assert unused == []

"""Docstrings begin with a noun or a verb, and seldom say "what": both trees keep within their limits."""

from pathlib import Path

import pytest

from tests.house.docstrings import (
    docstrings_below,
    docstrings_in,
    per_thousand_words,
    share_of_refused_beginnings,
)

ROOT = Path(__file__).parents[2]
# Limits of each tree: the share that begins otherwise, and how often "what" stands in 1,000 words.
LIMITS = {"src": (0.03, 4.0), "tests": (0.03, 4.0)}


@pytest.mark.parametrize("tree", LIMITS)
def test_docstrings_come_no_further_from_plain_english(tree: str):
    docstrings = docstrings_below(ROOT / tree)
    share_max, what_max = LIMITS[tree]
    assert share_of_refused_beginnings(docstrings) <= share_max
    assert per_thousand_words("what", docstrings) <= what_max


def test_first_words_and_words_of_docstrings_are_found(tmp_path: Path):
    file = tmp_path / "one.py"
    file.write_text('"""What is it."""\n\n\ndef read():\n    """Return what there is."""\n')
    docstrings = list(docstrings_in(file))
    assert [one.begins_with_a_noun_or_a_verb for one in docstrings] == [False, True]
    assert share_of_refused_beginnings(docstrings) == 0.5
    assert per_thousand_words("what", docstrings) == 1000 * 2 / 7

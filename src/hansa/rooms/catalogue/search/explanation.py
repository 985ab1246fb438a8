"""Say why a card was found: which words of the query it answers, and where."""

import re
from collections.abc import Collection, Mapping, Sequence

import asyncpg

from .index_queries import FUZZIER_MIN, FUZZY_MIN
from .query import Explanation
from .text import ParsedQuery, Word, folded

PARTS = ("name", "tags", "skills", "description")
# A misspelled word is looked for in so many words of the name, the tags and the skills.
NEAR_WORDS_MAX = 300
_WORD = re.compile(r"\w+")


class Explainer:
    """Explains the cards that one query found."""

    def __init__(self, parsed: ParsedQuery, unknown: Collection[Word]) -> None:
        self._parsed = parsed
        self._unknown = unknown
        self._are_near: dict[tuple[str, str], bool] = {}
        self._patterns = {word: re.compile(rf"\b(?:{_beginnings(word)})") for word in parsed.words}

    def why(self, card: asyncpg.Record) -> Explanation:
        """Why this card answers the query."""
        if self._parsed.is_did_of(card["did"]):
            return Explanation(("did",), (self._parsed.whole,))
        texts = dict(zip(PARTS, _texts(card), strict=True))
        fields: dict[str, None] = {}
        words: list[str] = []
        for word, pattern in self._patterns.items():
            holding = [part for part, text in texts.items() if pattern.search(text)]
            if not holding and word in self._unknown:
                holding = self._nearly_holding(word, texts)
            fields |= dict.fromkeys(holding)
            words += [word.plain] if holding else []
        for run in self._parsed.runs:
            holding = [part for part, text in texts.items() if run in text]
            fields |= dict.fromkeys(holding)
            words += [run] if holding else []
        return Explanation(tuple(part for part in PARTS if part in fields), tuple(words))

    def _nearly_holding(self, word: Word, texts: Mapping[str, str]) -> list[str]:
        parts = ("name", "tags", "skills") if len(word.plain) >= FUZZY_MIN else ()
        return [part for part in parts if self._is_near_one_of(word.plain, texts[part])]

    def _is_near_one_of(self, word: str, text: str) -> bool:
        distance = 2 if len(word) >= FUZZIER_MIN else 1
        for other in _WORD.findall(text)[:NEAR_WORDS_MAX]:
            if (word, other) not in self._are_near:
                self._are_near[word, other] = is_near(word, other, distance)
            if self._are_near[word, other]:
                return True
        return False


def _beginnings(word: Word) -> str:
    """How words begin that have the stem of this one; the stem of `company` is `compani`."""
    return re.escape(word.stem.removesuffix("i"))


def _texts(card: asyncpg.Record) -> Sequence[str]:
    return (
        folded(f"{card['name']} {card['human_readable_id']}"),
        folded(" ".join(card["tags"])),
        folded(card["skills_text"]),
        folded(card["description"]),
    )


def is_near(one: str, other: str, distance: int) -> bool:
    """Return whether at most so many characters were left out, put in, changed or swapped."""
    if abs(len(one) - len(other)) > distance:
        return False
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, character in enumerate(one, 1):
        earlier, before, row = before, row, [at]
        for place, another in enumerate(other, 1):
            cost = min(before[place] + 1, row[place - 1] + 1, before[place - 1] + (character != another))
            if at > 1 and place > 1 and character == other[place - 2] and one[at - 2] == another:
                cost = min(cost, earlier[place - 2] + 1)
            row.append(cost)
        if min(row) > distance:
            return False
    return row[-1] <= distance

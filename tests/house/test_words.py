"""The words that the house does not use are in no name and no text: the field's term is used instead.

Everything is read but the index of decisions, which lists former titles, the history of changes, and the former names of
constraints and sequences.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SUFFIXES = {".css", ".html", ".js", ".lua", ".md", ".py", ".sql", ".toml"}
NOT_OURS = (
    "docs/decisions/README.md",
    "migrations/baseline/former_chain.sql",
    "src/hansa/doors/console/static/vendor/",
)

# Each word with what is written instead.
REFUSED = {
    "told|tells?|telling": "returned, shown, notified, published",
    "grounds?": "seed, fixture or background",
    "standing": "status",
    "levers?": "effect",
    r"hand(?:s|ed|ing)?[ _]out": "returned, issued or served",
    r"signs?[ _]of[ _]life": "health check",
    r"for[ _]want[ _]of": "insufficient",
    r"said[ _]twice": "idempotent or repeated",
    "ways?": "path, route or method",
    "half[ _]login": "partial login",
    r"in[ _]vain": "without effect or without success",
    "likeness": "confusables",
    "switchboard": "router",
}
# In the sources it has its plain sense: the characters of a text.
REFUSED_IN_TESTS = {"letters?": "mail or character"}
# What stays: technical terms, names that are stored or landed, and texts of the recorded conversation.
TERMS = (
    r"\.tell\(\)",
    r"'standing: developer",
    r'"standing"',
    r"under[ _]way",
    r"the[ _]other[ _]way[ _]round",
    "a link is on its way",
    r"finding[ _-]your[ _-]way",
    r"(?:capital|lower-case|upper-case|small)[ _]letters?",
    "plumbing_letter",
    "Translates letters, contracts",
)


def _words(refused: dict[str, str]) -> re.Pattern[str]:
    return re.compile(rf"(?i)(?<![a-z])(?:{'|'.join(refused)})(?![a-z])")


_TERMS = re.compile(f"(?i){'|'.join(TERMS)}")
_REFUSED = _words(REFUSED)
_REFUSED_IN_TESTS = _words(REFUSED | REFUSED_IN_TESTS)


def refused_words(text: str, *, of_tests: bool) -> Iterator[tuple[int, str]]:
    """Line numbers and words of `text` that the house does not use."""
    words = _REFUSED_IN_TESTS if of_tests else _REFUSED
    for number, line in enumerate(text.splitlines(), 1):
        if words.search(line):
            yield from ((number, found.group()) for found in words.finditer(_TERMS.sub("", line)))


def _files(folder: str) -> list[Path]:
    paths = [ROOT / folder] if folder.endswith(".md") else sorted((ROOT / folder).rglob("*"))
    return [
        path
        for path in paths
        if path.suffix in SUFFIXES
        and path != Path(__file__)
        and not path.relative_to(ROOT).as_posix().startswith(NOT_OURS)
    ]


@pytest.mark.parametrize(
    "folder",
    [
        "src",
        "tests",
        "bench",
        "docs",
        "client",
        "migrations",
        "verify",
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
    ],
)
def test_names_and_texts_use_the_terms_of_the_field(folder: str):
    files = _files(folder)
    assert files
    assert [
        f"{path.relative_to(ROOT)}:{number}: {word}"
        for path in files
        for number, word in refused_words(path.read_text(), of_tests=folder in ("tests", "bench"))
    ] == [], f"write instead: {REFUSED | REFUSED_IN_TESTS}"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("async def test_an_owner_is_told_of_it(told):", ["told", "told"]),
        ("_TOLD = 1  # The Letters that wait, on their way.", ["TOLD", "Letters", "way"]),
        ("a registry hands out what was said twice", ["hands out", "said twice"]),
        ("away, always, lettered, understanding, background, grounded, Fortelling", []),
        ("lower-case letters of plumbing_letter; file.tell(); a request under way", []),
    ],
)
def test_a_word_is_found_in_names_and_in_texts_and_terms_stay(line: str, words: list[str]):
    assert [word for _, word in refused_words(line, of_tests=True)] == words


def test_the_sources_may_name_letters():
    assert list(refused_words("Letters of a text, as told.", of_tests=False)) == [(1, "told")]

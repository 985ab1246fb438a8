"""Docstrings of Python files: their first words and the share of a word in them."""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

WORDS_THAT_BEGIN_NO_DOCSTRING = frozenset({"what", "who", "whoever", "which", "whether", "where", "as", "of"})

_WORD = re.compile(r"[a-z']+")
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Docstring:
    """Docstring of a module, a class or a function, with its place."""

    file: Path
    line: int
    words: tuple[str, ...]

    @property
    def begins_with_a_noun_or_a_verb(self) -> bool:
        return self.words[:1] == () or self.words[0] not in WORDS_THAT_BEGIN_NO_DOCSTRING


def docstrings_in(file: Path) -> Iterator[Docstring]:
    """Yield the docstrings of one file, the module's first."""
    return docstrings_of(ast.parse(file.read_text()), file)


def docstrings_of(tree: ast.Module, file: Path) -> Iterator[Docstring]:
    """Yield the docstrings of a parsed file."""
    for node in _statements(tree):
        if isinstance(node, _DOCUMENTED) and (text := ast.get_docstring(node)):
            yield Docstring(file, getattr(node, "lineno", 1), tuple(_WORD.findall(text.lower())))


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the node and the statements below it. No expression has a docstring, and they are most of a tree."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from _statements(child)


def docstrings_below(folder: Path) -> list[Docstring]:
    """Return the docstrings of every Python file of `folder`."""
    return [one for file in sorted(folder.rglob("*.py")) for one in docstrings_in(file)]


def share_of_refused_beginnings(docstrings: Iterable[Docstring]) -> float:
    """Return the part, from 0 to 1, of the docstrings that begin with neither a noun nor a verb."""
    found = [one.begins_with_a_noun_or_a_verb for one in docstrings]
    return found.count(False) / max(len(found), 1)


def per_thousand_words(word: str, docstrings: Iterable[Docstring]) -> float:
    """Return the number of times that `word` stands in 1,000 words of the docstrings."""
    words = [one for docstring in docstrings for one in docstring.words]
    return 1000 * words.count(word) / max(len(words), 1)

"""Code with light highlighting: strings, comments, keywords, numbers and names of members, each as a span with a class of one character."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from markupsafe import Markup, escape

CODE_KEPT = 2000
MARKS = {"Comment": "c", "String": "s", "Keyword": "k", "Number": "n", "Tag": "t"}
"""Class of each kind of token that stands out; every other token is plain text."""


@lru_cache(maxsize=CODE_KEPT)
def highlighted(code: str, language: str) -> Markup:
    """The code as markup with the same text; a language without a lexer is plain text."""
    tokens = list(_lexer(language).get_tokens(code))
    if "".join(text for _, text in tokens) != code:
        # A lexer replaces line ends; such code stays as it is.
        return escape(code)
    return Markup("").join(_marked(kind, text) for kind, text in tokens)


def _marked(kind: Iterable[str], text: str) -> Markup:
    mark = next((MARKS[name] for name in kind if name in MARKS), None)
    return Markup('<span class="{}">{}</span>').format(mark, text) if mark else escape(text)


@lru_cache(maxsize=50)
def _lexer(language: str) -> Any:
    """Lexer of pygments, which has no types."""
    # Loaded with the first page that shows code.
    from pygments.lexers import get_lexer_by_name, special
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return special.TextLexer(stripnl=False, ensurenl=False)

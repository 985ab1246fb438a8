"""What an owner wrote, made fit to stand on a page of the registry.

- It is text: nothing of it becomes markup, and it stands apart from what is around it whatever way it is written.
- What cannot be seen is left out: signs that turn the order of letters, joiners between plain letters, fillers.
- Only an http or https address becomes a link, shown as it is dialled.
"""

import unicodedata
from typing import Any
from urllib.parse import quote, urlsplit

from markupsafe import Markup

from hansa.foundation.words.web_address import is_http_url

MARKS_ON_A_LETTER_MAX = 4
NOTHING_TO_SEE = "(nothing that can be seen)"

# Letters by their category, and yet blank.
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_JOINERS = frozenset("\u200c\u200d")
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_MARKS = frozenset({"Mn", "Me"})
_LAID_OUT = frozenset("\n\t")


def seen(text: str) -> str:
    """The text without what hides, turns or piles up."""
    kept: list[str] = []
    marks = 0
    for position, letter in enumerate(text):
        if letter in _JOINERS:
            # Persian, Indic scripts and emoji are joined; between plain letters a joiner only hides.
            if _joins(text, position):
                kept.append(letter)
            continue
        category = unicodedata.category(letter)
        if letter in _FILLERS or (category in _UNSEEN and letter not in _LAID_OUT):
            continue
        marks = marks + 1 if category in _MARKS else 0
        if marks <= MARKS_ON_A_LETTER_MAX:
            kept.append(letter)
    return "".join(kept)


def theirs(text: Any) -> Markup:
    """The text as a page shows it. Right-to-left writing turns nothing outside it."""
    return Markup("<bdi>{}</bdi>").format(seen(str(text)).strip() or NOTHING_TO_SEE)


def dialled(url: Any) -> str | None:
    """An http or https address as it goes over the wire, ASCII all through; None: it is nothing to dial."""
    if not isinstance(url, str) or not is_http_url(url):
        return None
    parts = urlsplit(url)
    try:
        host = parts.netloc.encode("idna").decode() if not parts.netloc.isascii() else parts.netloc
    except UnicodeError:
        return None
    rest = "".join(
        sign + quote(part, safe="/?[]@!$&'()*+,;=:%~-._")
        for sign, part in (("", parts.path), ("?", parts.query), ("#", parts.fragment))
        if part
    )
    return f"{parts.scheme}://{host}{rest}"


def link(url: Any) -> Markup:
    """A link to another host that tells it nothing and lends it nothing; text where it is no address."""
    address = dialled(url)
    if address is None:
        return theirs(url)
    return Markup('<a href="{0}" rel="nofollow noopener noreferrer">{0}</a>').format(address)


def _joins(text: str, position: int) -> bool:
    around = text[max(0, position - 1) : position] + text[position + 1 : position + 2]
    return len(around) == 2 and not any(letter.isascii() or letter in _JOINERS for letter in around)  # noqa: PLR2004

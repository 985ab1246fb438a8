"""Text of an owner, made fit to stand on a page of the registry.

- It is text: nothing of it becomes markup, and it is isolated from the text around it, whatever its direction of writing.
- Invisible characters are left out, in a script of a page (`static/seen.js`) as here. Without that no isolation holds: a
  sign that closes one closes the page's own.
- Only an http or https address becomes a link, shown as it is dialled.
"""

from typing import Any

from markupsafe import Markup, escape

from hansa.foundation.values.visible_text import legible, seen
from hansa.foundation.values.web_address import dialled


def theirs(text: Any) -> Markup:
    """The text as a page shows it. Right-to-left writing turns nothing outside it."""
    return _apart(legible(str(text)))


def prose(text: Any) -> Markup:
    """The text for an element of its own with `dir="auto"`, which isolates it and takes its direction from it."""
    return escape(legible(str(text)))


def laid_out(text: Any) -> Markup:
    """Text whose blanks and line ends matter, such as a card as JSON, as a page shows it."""
    return _apart(seen(str(text)))


def link(url: Any) -> Markup:
    """A link to another host without referrer and opener; text where it is no address."""
    address = dialled(url)
    if address is None:
        return theirs(url)
    return Markup('<a href="{0}" rel="nofollow noopener noreferrer">{0}</a>').format(address)


def _apart(text: str) -> Markup:
    return Markup(f"<bdi>{escape(text)}</bdi>")  # noqa: S704

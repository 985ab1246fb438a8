"""The bounds of a card document: how large, how many, how long, which schemes, which tags."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from hansa.foundation.values.web_address import is_http_url

CARD_MAX_BYTES = 2 * 1024 * 1024
"""Of a card as it is served: as many as a verifier reads, and as the body of a request with a card may have."""
REGISTRYS_PART_BYTES = 64 * 1024
"""Kept for what the registry adds to a card of its own: extensions and signatures."""
VALUES_MAX = 20_000
DEPTH_MAX = 60
STRING_MAX = 2048
DESCRIPTION_MAX = 8192
NAME_MAX = 128
MEMBER_NAME_MAX = 256
TAG_MAX = 60
TAGS_MAX = 64
SKILLS_MAX = 256
INTERFACES_MAX = 32
LISTS = {
    "skills": SKILLS_MAX,
    "supportedInterfaces": INTERFACES_MAX,
    "additionalInterfaces": INTERFACES_MAX,
    "extensions": TAGS_MAX,
}
KINDS: dict[str, type[object]] = {
    "url": str,
    "preferredTransport": str,
    "agentVersion": str,
    "authSchemes": list,
    "supportsAuthenticatedExtendedCard": bool,
    "protocolVersion": str,
    "additionalInterfaces": list,
    "extensions": list,
    "capabilities": dict,
    "pricing": dict,
    "endpoints": dict,
}

_KIND_NAMES: dict[type[object], str] = {
    str: "a string that is not empty",
    list: "a list",
    dict: "an object",
    bool: "true or false",
}
SOCKET_SCHEMES = frozenset({"ws", "wss"})
ROOT = "$"
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


class Trouble(NamedTuple):
    """Trouble with one member of a card; `field` is its JSON path, from `$`, the card itself."""

    field: str
    message: str


def below(path: str, name: str, *, verbatim: bool = False) -> str:
    """The JSON path of a member."""
    if verbatim or _PLAIN_NAME.fullmatch(name):
        return f"{path}.{name}"
    quoted = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"{path}['{quoted}']"


def item(path: str, position: int) -> str:
    """The JSON path of an item of a list."""
    return f"{path}[{position}]"


class _Value(NamedTuple):
    path: str
    name: str
    value: Any
    depth: int


def size_troubles(card: dict[str, Any]) -> Iterator[Trouble]:
    """Yield the troubles that make a card too large to look at closely; nothing else may read the card before this."""
    waiting = [_Value(ROOT, "", card, 1)]
    seen = 0
    while waiting:
        here = waiting.pop()
        seen += 1
        if seen > VALUES_MAX:
            yield Trouble(ROOT, f"The card holds more than {VALUES_MAX} values.")
            return
        if here.depth > DEPTH_MAX:
            yield Trouble(here.path, f"The card is nested deeper than {DEPTH_MAX} levels.")
            return
        waiting.extend(_members(here))
    try:
        text = json.dumps(card, ensure_ascii=False, allow_nan=False)
    except ValueError:
        yield Trouble(ROOT, "The card holds a number that JSON cannot write.")
        return
    if len(text.encode("utf-8", "replace")) > CARD_MAX_BYTES:
        yield Trouble(ROOT, f"The card is larger than {CARD_MAX_BYTES} bytes.")


def whole_size_troubles(card: dict[str, Any]) -> Iterator[Trouble]:
    """An owner's card in both formats leaves room for the part of the registry."""
    most = CARD_MAX_BYTES - REGISTRYS_PART_BYTES
    if len(json.dumps(card, ensure_ascii=False).encode("utf-8", "replace")) > most:
        yield Trouble(ROOT, f"The card with the members of both formats is larger than {most} bytes.")


def text_troubles(card: dict[str, Any]) -> Iterator[Trouble]:
    """Strings that are too long, hold control characters, or should be URLs and are not."""
    waiting = [_Value(ROOT, "", card, 1)]
    while waiting:
        here = waiting.pop()
        if len(here.name) > MEMBER_NAME_MAX or _CONTROL.search(here.name):
            yield Trouble(
                here.path[:STRING_MAX], f"A member name is longer than {MEMBER_NAME_MAX} characters or odd."
            )
        elif isinstance(here.value, str):
            yield from _string_troubles(here)
        else:
            waiting.extend(reversed(list(_members(here))))


def count_troubles(card: dict[str, Any]) -> Iterator[Trouble]:
    """Lists and names beyond their bounds, and members of the wrong kind that the official types do not know."""
    name = card.get("name")
    if isinstance(name, str) and (len(name) > NAME_MAX or name != name.strip()):
        yield Trouble(
            below(ROOT, "name"), f"The name is longer than {NAME_MAX} characters or has blanks around it."
        )
    for member, most in LISTS.items():
        if len(card[member] if isinstance(card.get(member), list) else ()) > most:
            yield Trouble(below(ROOT, member), f"The list holds more than {most} items.")
    for member, kind in KINDS.items():
        if member in card and (not isinstance(card[member], kind) or card[member] == ""):
            yield Trouble(below(ROOT, member), f"This member is {_KIND_NAMES[kind]}.")
    yield from _tag_troubles("$.tags", card.get("tags"))
    skills = card.get("skills")
    for position, skill in enumerate(skills if isinstance(skills, list) else []):
        if isinstance(skill, dict):
            yield from _tag_troubles(f"$.skills[{position}].tags", skill.get("tags"))


def is_fitting_url(name: str, text: str, *, is_endpoint: bool) -> bool:
    """Return whether a member of that name may hold the text: those that should be URLs hold one, or nothing."""
    if not text:
        return True
    if name[-3:].lower() == "url":
        return is_http_url(text)
    if not is_endpoint:
        return True
    scheme = _SCHEME.match(text)
    if scheme and scheme[1].lower() in SOCKET_SCHEMES:
        return is_http_url("http" + text[2:])
    return scheme is None or is_http_url(text)


def _members(here: _Value) -> Iterator[_Value]:
    if isinstance(here.value, dict):
        for name, value in here.value.items():
            yield _Value(below(here.path, name), name, value, here.depth + 1)
    elif isinstance(here.value, list):
        for position, value in enumerate(here.value):
            yield _Value(item(here.path, position), here.name, value, here.depth + 1)


def _string_troubles(here: _Value) -> Iterator[Trouble]:
    most = DESCRIPTION_MAX if here.name == "description" else STRING_MAX
    if len(here.value) > most:
        yield Trouble(here.path, f"The text is longer than {most} characters.")
    elif _CONTROL.search(here.value):
        yield Trouble(here.path, "The text holds control characters.")
    # An address of an MCP server may be a template.
    elif not here.path.startswith("$.mcp_server.") and not is_fitting_url(
        here.name, here.value, is_endpoint=here.path.startswith("$.endpoints.")
    ):
        yield Trouble(here.path, "The URL is not an absolute http or https URL without credentials.")


def _tag_troubles(path: str, tags: Any) -> Iterator[Trouble]:
    if tags is None:
        return
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        yield Trouble(path, "Tags are a list of strings.")
    elif len(tags) > TAGS_MAX or not all(1 <= len(tag) <= TAG_MAX for tag in tags):
        yield Trouble(path, f"There are at most {TAGS_MAX} tags of 1 to {TAG_MAX} characters.")

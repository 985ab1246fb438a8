"""The `server.json` of an MCP server: its form, its remotes that can be called, and its card. No I/O.

- A remote becomes an interface `MCP` where it is `streamable-http` at an https address without `{variables}`. Other remotes and the
  packages are stored as stated; the registry runs none of them.
- Every problem is named with its JSON Pointer.
"""

import json
import re
import unicodedata
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import msgspec

from hansa.foundation.values.visible_text import seen
from hansa.foundation.values.web_address import is_http_url, read_web_address, why_closed
from hansa.rooms.catalogue.limits import DESCRIPTION_MAX, NAME_MAX, STRING_MAX

MCP = "MCP"
"""Protocol binding of an interface that speaks the Model Context Protocol."""
MEMBER = "mcp_server"
"""Member of a card's document with the statements of its MCP server; the platform alone writes it."""
REVISION = "2025-11-25"
BYTES_MAX = 64 * 1024
DEPTH_MAX = 16
TEXT_MAX = 100
VERSION_MAX = 255
ITEMS_MAX = 32
TROUBLES_MAX = 50
TYPES = ("streamable-http", "sse")
TAGS = ["mcp"]

_NAME = re.compile(r"[A-Za-z0-9.-]+/[A-Za-z0-9._-]+", re.ASCII)
_RANGE = re.compile(r"[\^~<>=*|]|\.x\b", re.ASCII)
_STORED = ("name", "title", "version", "websiteUrl", "repository", "remotes", "packages")
_OF_REMOTE = ("type", "url", "headers", "variables")


def is_server(interface: dict[str, Any]) -> bool:
    """Return whether an interface of a card is an MCP server."""
    return str(interface.get("protocolBinding", "")).upper() == MCP


class PointedTrouble(NamedTuple):
    """Problem at one place of the document; `pointer` is its JSON Pointer."""

    pointer: str
    message: str


class CheckedServer(msgspec.Struct, frozen=True):
    """A server as it would be imported, or its troubles. `called` are the addresses of remotes that become interfaces."""

    troubles: tuple[PointedTrouble, ...]
    stated: dict[str, Any] = {}
    description: str = ""
    called: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the server: its namespace in reverse, a slash, and a name."""
        name: str = self.stated["name"]
        return name

    @property
    def interfaces(self) -> list[dict[str, str]]:
        """The interfaces of its card."""
        return [{"url": url, "protocolBinding": MCP, "protocolVersion": REVISION} for url in self.called]

    def card(self) -> dict[str, Any]:
        """Return the card of the server before its tools are known."""
        name = self.stated.get("title") or self.name.partition("/")[2]
        website = self.stated.get("websiteUrl")
        return {
            "name": name[:NAME_MAX],
            "description": self.description,
            "version": self.stated["version"],
            "supportedInterfaces": self.interfaces,
            "tags": TAGS,
            **({"documentationUrl": website} if website else {}),
        }


def check_server(document: Any, allowed: Collection[str]) -> CheckedServer:
    """Judge a `server.json`, or an entry of an MCP registry with one. `allowed`: the operator's list of further hosts."""
    root = ""
    if isinstance(document, dict) and "name" not in document and isinstance(document.get("server"), dict):
        root, document = "/server", document["server"]
    if troubles := tuple(_size_troubles(document, root)):
        return CheckedServer(troubles)
    document = _normalised(document)
    called = tuple(dict.fromkeys(_called(document, allowed)))
    troubles = (
        *_text_troubles(document, root),
        *_member_troubles(document, root),
        *_remote_troubles(document, root, allowed),
        *_package_troubles(document, root),
    )
    if not troubles and not called:
        sentence = "No remote can be called: state one of type streamable-http with an https address without variables."
        troubles = (PointedTrouble(f"{root}/remotes", sentence),)
    if troubles:
        return CheckedServer(troubles[:TROUBLES_MAX])
    stated = {name: document[name] for name in _STORED if document.get(name) is not None}
    stated["remotes"] = [
        {name: remote[name] for name in _OF_REMOTE if remote.get(name)} for remote in stated["remotes"]
    ]
    return CheckedServer((), stated, document["description"], called)


def _size_troubles(document: Any, root: str) -> Iterator[PointedTrouble]:
    if not isinstance(document, dict):
        yield PointedTrouble(root, "A server.json is a JSON object.")
        return
    waiting: list[tuple[Any, int]] = [(document, 1)]
    while waiting:
        value, depth = waiting.pop()
        if depth > DEPTH_MAX:
            yield PointedTrouble(root, f"The document is nested deeper than {DEPTH_MAX} levels.")
            return
        if isinstance(value, dict | list):
            held = value.values() if isinstance(value, dict) else value
            waiting += [(one, depth + 1) for one in held]
    try:
        size = len(json.dumps(document, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace"))
    except ValueError:
        yield PointedTrouble(root, "The document holds a number that JSON cannot write.")
        return
    if size > BYTES_MAX:
        yield PointedTrouble(root, f"The document is larger than {BYTES_MAX} bytes.")


def _text_troubles(value: Any, pointer: str) -> Iterator[PointedTrouble]:
    if isinstance(value, str):
        if len(value) > (DESCRIPTION_MAX if pointer.endswith("/description") else STRING_MAX):
            yield PointedTrouble(pointer, "The text is too long.")
        elif seen(value) != value:
            yield PointedTrouble(pointer, "The text holds control characters or others that cannot be seen.")
    elif isinstance(value, dict):
        for name, member in value.items():
            below = f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"
            if len(name) > NAME_MAX or seen(name) != name:
                yield PointedTrouble(
                    below[:STRING_MAX], f"A member name is longer than {NAME_MAX} characters or odd."
                )
            else:
                yield from _text_troubles(member, below)
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _text_troubles(item, f"{pointer}/{position}")


def _member_troubles(document: dict[str, Any], root: str) -> Iterator[PointedTrouble]:
    name, version = document.get("name"), document.get("version")
    if not isinstance(name, str) or not 3 <= len(name) <= 200 or not _NAME.fullmatch(name):  # noqa: PLR2004
        yield PointedTrouble(
            f"{root}/name",
            "The name is `namespace/name`, such as com.example/weather, of 3 to 200 letters, digits, `.`, `-` and, after the slash, `_`.",
        )
    if not _is_text(document.get("description"), TEXT_MAX):
        yield PointedTrouble(
            f"{root}/description", f"The description is a text of 1 to {TEXT_MAX} characters."
        )
    if not _is_text(version, VERSION_MAX) or version == "latest" or _RANGE.search(str(version)):
        yield PointedTrouble(
            f"{root}/version", f"The version is one exact version of 1 to {VERSION_MAX} characters."
        )
    if document.get("title") is not None and not _is_text(document["title"], TEXT_MAX):
        yield PointedTrouble(f"{root}/title", f"The title is a text of 1 to {TEXT_MAX} characters.")
    website = document.get("websiteUrl")
    if website is not None and not (isinstance(website, str) and is_http_url(website)):
        yield PointedTrouble(f"{root}/websiteUrl", "The website is an http or https URL.")
    repository = document.get("repository")
    if repository is not None and not (
        isinstance(repository, dict) and _is_text(repository.get("url"), STRING_MAX)
    ):
        yield PointedTrouble(f"{root}/repository", "The repository is an object with a url.")


def _remote_troubles(
    document: dict[str, Any], root: str, allowed: Collection[str]
) -> Iterator[PointedTrouble]:
    remotes = document.get("remotes") or []
    if not isinstance(remotes, list) or len(remotes) > ITEMS_MAX:
        yield PointedTrouble(f"{root}/remotes", f"The remotes are a list of at most {ITEMS_MAX}.")
        return
    for position, remote in enumerate(remotes):
        pointer = f"{root}/remotes/{position}"
        if not isinstance(remote, dict):
            yield PointedTrouble(pointer, "A remote is an object.")
            continue
        if remote.get("type") not in TYPES:
            yield PointedTrouble(f"{pointer}/type", f"The type of a remote is {' or '.join(TYPES)}.")
        url = remote.get("url")
        if not isinstance(url, str) or not url:
            yield PointedTrouble(f"{pointer}/url", "The url of a remote is a text.")
        elif not _has_variables(remote):
            address = read_web_address(url)
            if address is None:
                yield PointedTrouble(
                    f"{pointer}/url", "The url is no http or https address without credentials and fragment."
                )
            elif why_closed(address, allowed) in {"internal_host", "odd_port"}:
                yield PointedTrouble(f"{pointer}/url", "The host is never called: it is not public.")


def _package_troubles(document: dict[str, Any], root: str) -> Iterator[PointedTrouble]:
    packages = document.get("packages") or []
    if not isinstance(packages, list) or len(packages) > ITEMS_MAX:
        yield PointedTrouble(f"{root}/packages", f"The packages are a list of at most {ITEMS_MAX}.")
        return
    for position, package in enumerate(packages):
        pointer = f"{root}/packages/{position}"
        if not isinstance(package, dict):
            yield PointedTrouble(pointer, "A package is an object.")
            continue
        for member in ("registryType", "identifier"):
            if not _is_text(package.get(member), STRING_MAX):
                yield PointedTrouble(f"{pointer}/{member}", "This member is a text.")
        if not isinstance(package.get("transport"), dict):
            yield PointedTrouble(f"{pointer}/transport", "The transport of a package is an object.")


def _called(document: dict[str, Any], allowed: Collection[str]) -> Iterator[str]:
    """Yield the addresses of the remotes that can be called."""
    remotes = document.get("remotes")
    for remote in remotes if isinstance(remotes, list) else ():
        if not isinstance(remote, dict) or remote.get("type") != "streamable-http" or _has_variables(remote):
            continue
        url = remote.get("url")
        address = read_web_address(url) if isinstance(url, str) else None
        if address is not None and why_closed(address, allowed) is None:
            yield address.url


def _has_variables(remote: dict[str, Any]) -> bool:
    return bool(remote.get("variables")) or "{" in str(remote.get("url"))


def _is_text(value: Any, most: int) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= most


def _normalised(value: Any) -> Any:
    """Return the document with its texts in NFC and without blanks around them."""
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value).strip()
    if isinstance(value, dict):
        return {unicodedata.normalize("NFC", name): _normalised(member) for name, member in value.items()}
    return [_normalised(item) for item in value] if isinstance(value, list) else value

"""The guides and the changelog: Markdown files of this version, as HTML.

- The text is escaped; HTML in a file is shown as text.
- A link to another guide leads to its page. A link to a file that no page shows is left as text.
- The example address in commands is the address of this registry; where a file names the address on which the process listens, it stays.
- Headings have the identifiers that links within Markdown use; those of the second level are the contents. Blocks of code are highlighted
  and get a button that copies them.
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from markupsafe import Markup, escape

import hansa
from hansa.doors.console.highlighting import highlighted

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

CHANGELOG = "CHANGELOG"
STATIC_PLACE = "console/static/"
EXAMPLE_ADDRESS = "http://127.0.0.1:8000"
ADDRESSES_KEPT = 500
GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "Agents and payments",
        (
            "tutorial",
            "first-agent",
            "discovery",
            "pay-for-a-call",
            "be-paid",
            "agent-builder",
            "payments",
            "pay-across-registries",
            "swap-currencies",
            "bridge",
            "staking",
            "governance",
            "exchange",
        ),
    ),
    (
        "Work and reputation",
        ("contracts", "disputes", "attestations", "grades", "achievements", "availability", "bonds"),
    ),
    (
        "Accounts and programs",
        (
            "accounts",
            "agent-rights",
            "spawn",
            "logs",
            "pipelines",
            "versions-and-deployments",
            "organizations",
            "connect-ai-clients",
            "agent-frameworks",
            "mcp-servers",
            "webhooks",
            "support",
            "client",
            "command-line",
        ),
    ),
    (
        "Operators",
        (
            "production",
            "settings",
            "backups",
            "keys",
            "several-machines",
            "high-availability",
            "kubernetes",
            "upgrades",
            "observing",
            "status",
            "runbooks",
            "journal",
            "growth",
            "replay",
            "conformance",
            "administrators",
            "suspension",
            "services",
        ),
    ),
    (
        "Federation",
        (
            "join-a-federation",
            "run-a-federation",
            "one-frame-many-operators",
            "licences",
            "jurisdiction",
            "misbehaving-peers",
        ),
    ),
    ("Verification", ("auditing", "registry-card")),
)

_NOT_IN_AN_IDENTIFIER = re.compile(r"[^\w\- ]")


class Guide(msgspec.Struct, frozen=True):
    """A file as a page: its first heading, its first sentence as text, the rest, and identifier and title of each section."""

    name: str
    title: str
    summary: str
    body: Markup
    contents: list[tuple[str, str]]

    @property
    def address(self) -> str:
        """The path of its page."""
        return _address(self.name)


def guide(name: str, base_url: str) -> Guide | None:
    """The guide with this name, with the address of the registry in its commands, or None."""
    return _read(name, base_url) if name in _names() else None


def guides() -> list[tuple[str, list[Guide]]]:
    """Every guide, by subject."""
    return [(title, [_read(name) for name in names]) for title, names in GROUPS]


def neighbours(name: str) -> tuple[Guide | None, Guide | None]:
    """The guides before and after the one with this name, in the order of the list."""
    ordered = [one for _, names in GROUPS for one in names]
    place = ordered.index(name)
    before, after = ordered[:place][-1:], ordered[place + 1 :][:1]
    return next(map(_read, before), None), next(map(_read, after), None)


def start_file(base_url: str) -> str:
    """Shell functions that the commands of the guides use, for the registry with this address."""
    return _addressed(_documents().joinpath("guides", "start.sh").read_text(encoding="utf-8"), base_url)


def changelog() -> Guide:
    """Return the changes for users."""
    return _read(CHANGELOG)


@lru_cache(maxsize=ADDRESSES_KEPT)
def _read(name: str, base_url: str = EXAMPLE_ADDRESS) -> Guide:
    tokens = _markdown().parse(_addressed(_file(name).read_text(encoding="utf-8"), base_url))
    title, rest = tokens[1], tokens[3:]
    summary = next((one for one in rest if one.type == "inline"), None)
    body = _body(rest)
    contents = [
        (str(token.attrGet("id")), _plain(rest[place + 1]))
        for place, token in enumerate(rest)
        if token.type == "heading_open" and token.tag == "h2"
    ]
    said = _first_sentence(_plain(summary)) if summary else ""
    return Guide(name, _plain(title), said, body, contents)


def _file(name: str) -> Path:
    documents = _documents()
    places = (documents / "guides" / f"{name}.md", documents / f"{name}.md", documents.parent / f"{name}.md")
    return next(place for place in places if place.is_file())


def _documents() -> Path:
    """Directory `docs` of the package, or of the checkout."""
    inside = Path(hansa.__file__).parent / "docs"
    return inside if inside.is_dir() else Path(hansa.__file__).parents[2] / "docs"


@cache
def _names() -> frozenset[str]:
    return frozenset(name for _, names in GROUPS for name in names)


def _address(name: str) -> str:
    return "/changelog" if name == CHANGELOG else f"/guides/{name}"


def _addressed(text: str, base_url: str) -> str:
    for before, after in (("REGISTRY:-", ""), ("`", "`")):
        text = text.replace(f"{before}{EXAMPLE_ADDRESS}{after}", f"{before}{base_url}{after}")
    return text


def _body(tokens: Sequence["Token"]) -> Markup:
    taken: dict[str, int] = {}
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            token.attrSet("id", _identifier(_plain(tokens[place + 1]), taken))
        if token.children:
            token.children = _linked(token.children)
    markdown = _markdown()
    return Markup(markdown.renderer.render(tokens, markdown.options, {}))  # noqa: S704


def _linked(children: Sequence["Token"]) -> list["Token"]:
    """The same with links to pages of this registry; links that lead nowhere here are removed, their text stays.

    A picture is a file of the console, named in the guide by its path in the checkout.
    """
    linked, open_links = [], []
    for token in children:
        if token.type == "image":
            token.attrSet("src", f"/static/{str(token.attrGet('src')).partition(STATIC_PLACE)[2]}")
            token.attrSet("loading", "lazy")
        if token.type == "link_open":
            target = _target(str(token.attrGet("href")))
            open_links.append(target is not None)
            if target is not None:
                token.attrSet("href", target)
                linked.append(token)
        elif token.type != "link_close" or open_links.pop():
            linked.append(token)
    return linked


def _target(address: str) -> str | None:
    if address.startswith(("#", "http://", "https://")):
        return address
    path, _, fragment = address.partition("#")
    name = Path(path).stem
    if not path.endswith(".md") or "decisions/" in path or (name not in _names() and name != CHANGELOG):
        return None
    return _address(name) + (f"#{fragment}" if fragment else "")


def _identifier(title: str, taken: dict[str, int]) -> str:
    base = _NOT_IN_AN_IDENTIFIER.sub("", title.lower()).replace(" ", "-")
    number = taken[base] = taken.get(base, -1) + 1
    return f"{base}-{number}" if number else base


def _first_sentence(text: str) -> str:
    return text.split(". ", 1)[0].rstrip(".") + "."


def _plain(inline: "Token") -> str:
    return "".join(
        " " if token.type == "softbreak" else token.content
        for token in inline.children or []
        if not token.hidden
    )


def _fence(tokens: Sequence["Token"], index: int, _options: Any, _environment: Any) -> str:
    language = escape(tokens[index].info.strip())
    content = highlighted(tokens[index].content.rstrip("\n"), tokens[index].info.strip())
    named = f' class="language-{language}"' if language else ""
    return (
        f'<div class="command"><pre tabindex="0" aria-label="Code"><code{named}>{content}</code></pre>'
        '<button type="button" class="button" data-copy hidden>Copy</button></div>\n'
    )


def _table_open(*_: Any) -> str:
    return '<div class="scroll stacked" role="group" aria-label="Table" tabindex="0"><table>\n'


def _table_close(*_: Any) -> str:
    return "</table></div>\n"


def _label_cells(state: Any) -> None:
    """Give each cell the head of its column, which stands beside it on a telephone."""
    heads: list[str] = []
    column = 0
    for index, token in enumerate(state.tokens):
        if token.type == "thead_open":
            heads = []
        elif token.type == "tr_open":
            column = 0
        elif token.type == "th_open":
            heads.append(_plain(state.tokens[index + 1]).strip())
        elif token.type == "td_open":
            if heads[column]:
                token.attrSet("data-label", heads[column])
            column += 1


@cache
def _markdown() -> "MarkdownIt":
    # Its sixty modules are loaded with the first guide that is read.
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    markdown.renderer.rules.update(  # type: ignore[attr-defined]
        {"fence": _fence, "code_block": _fence, "table_open": _table_open, "table_close": _table_close}
    )
    markdown.core.ruler.push("label_cells", _label_cells)
    return markdown

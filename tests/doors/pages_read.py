"""Content that a test reads out of a page: its text by element, and every address that it names."""

import re
from base64 import b64encode
from dataclasses import dataclass, field
from hashlib import sha256
from html.parser import HTMLParser

from hansa.doors.console.rendering import CONTENT_SECURITY_POLICY

ADDRESS_ATTRIBUTES = {"href", "src", "action", "srcset", "poster", "data", "formaction", "ping", "background"}
ADDRESS = re.compile(r"(?:https?:)?//[^\s\"'<>)]+", re.IGNORECASE)


def is_named_style(style: str) -> bool:
    """Return whether the content policy of the pages names this text of a style element."""
    digest = b64encode(sha256(style.encode()).digest()).decode()
    return f"'sha256-{digest}'" in CONTENT_SECURITY_POLICY


@dataclass
class ReadPage(HTMLParser):
    """Page as a parser sees it. `inline` has the elements that a browser would not run or apply: scripts, and styles not named by the policy."""

    html: str
    addresses: list[str] = field(default_factory=list)
    attributes: list[str] = field(default_factory=list)
    elements: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    inline: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._path: list[str] = []
        self.feed(self.html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self._path.append(tag)
        if tag == "pre":
            self.commands.append("")
        if tag == "script" and "src" not in dict(attrs):
            self.inline.append(tag)
        for name, value in attrs:
            self.attributes.append(name)
            if name in ADDRESS_ATTRIBUTES and value is not None:
                self.addresses.append(value)

    def handle_endtag(self, tag: str) -> None:
        while self._path and self._path.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "pre" in self._path:
            self.commands[-1] += data
        if self._path[-1:] == ["style"] and not is_named_style(data):
            self.inline.append("style")

"""Markup that strangers write into their texts, and the changes that it must never make to a page."""

import json
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

from tests.doors.pages_read import is_named_style

CALL = "xss()"
MARKUP = (
    f"<script>{CALL}</script>",
    f'"><img src=x onerror={CALL}>',
    f"'><svg/onload={CALL}>",
    f"</title><script>{CALL}</script>",
    f"</textarea><script>{CALL}</script>",
    f"</script><script>{CALL}</script>",
    f"--><script>{CALL}</script>",
    f"]]><script>{CALL}</script>",
    f'" onmouseover="{CALL}" x="',
    f"' autofocus onfocus='{CALL}' x='",
    f"` onerror={CALL} x=`",
    f"<iframe srcdoc='<script>{CALL}</script>'>",
    f"<object data=javascript:{CALL}>",
    f"<a href=javascript:{CALL}>x</a>",
    f"<form action=//evil.example><button formaction=javascript:{CALL}>",
    "<base href=//evil.example/>",
    "<meta http-equiv=refresh content=0;url=//evil.example>",
    "<style>*{background:url(//evil.example)}</style>",
    "<link rel=stylesheet href=//evil.example>",
    f"<math><mtext><mglyph><style></math><img src onerror={CALL}>",
    f"&#60;script&#62;{CALL}&#60;/script&#62;",
    f"&lt;script&gt;{CALL}&lt;/script&gt;",
    "{{7*7}}{%25 raw %25}${7*7}",
    f"\uff1cscript\uff1e{CALL}",
)
ADDRESSES = (
    f"javascript:{CALL}",
    f"JaVaScRiPt:{CALL}",
    f"data:text/html,<script>{CALL}</script>",
    f"vbscript:{CALL}",
    f"https://example.org/'onclick='{CALL}",
    f'https://example.org/"><script>{CALL}</script>',
    "//evil.example/x",
)
FORBIDDEN = frozenset(
    {"iframe", "object", "embed", "base", "math", "mglyph", "applet", "frame", "template", "marquee"}
)
LEADING = frozenset(
    {"href", "src", "action", "formaction", "data", "poster", "srcdoc", "srcset", "xlink:href"}
)
OWN_SCHEME = re.compile(r"^(?:https?:|mailto:|data:text/plain;|#|\?|/(?!/)|$)", re.IGNORECASE)
# What a browser leaves out before it reads a scheme.
LEFT_OUT = re.compile(r"[\x00-\x20]")


@dataclass
class JudgedPage(HTMLParser):
    """Page with its faults and the text that a person sees."""

    html: str
    faults: list[str] = field(default_factory=list)
    text: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self._is_data = self._is_style = False
        self.feed(self.html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in FORBIDDEN:
            self.faults.append(f"<{tag}>")
        self._is_style = tag == "style"
        self._is_data = tag == "script" and given.get("type") == "application/ld+json"
        if tag == "script" and not self._is_data and not (given.get("src") or "").startswith("/static/"):
            self.faults.append("a script of the page's own")
        if tag == "meta" and "http-equiv" in given:
            self.faults.append("<meta http-equiv>")
        if tag == "link" and not OWN_SCHEME.match(given.get("href") or ""):
            self.faults.append("<link> to another host")
        for name, value in attrs:
            if name.startswith("on") or name in {"style", "srcdoc"}:
                self.faults.append(f"{tag} {name}={value}")
            if name in LEADING and not OWN_SCHEME.match(LEFT_OUT.sub("", value or "")):
                self.faults.append(f"{tag} {name}={value}")
            if name in {"value", "aria-label"}:
                self.text += value or ""

    def handle_data(self, data: str) -> None:
        if self._is_style and not is_named_style(data):
            self.faults.append("a style of the page's own")
        self._is_style = False
        if self._is_data:
            # Data of a page ends where it seems to: a whole document, without a sign that begins an element.
            json.loads(data)
            if "<" in data:
                self.faults.append("an element within data")
            self._is_data = False
        self.text += data

"""Namespaces of MCP servers and what proves them. No network.

- The namespace of `com.example/weather` is the domain `example.com`.
- A namespace can be proved where it has two labels or more, is no public suffix, and is the host of each remote or its parent.
- The domain of the namespace itself states the proof, in a TXT record or in a file; the proof is of one card.
"""

from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from pathlib import Path
from uuid import UUID

import msgspec

from hansa.foundation.values.web_address import is_public_host, read_web_address

LIST = Path(__file__).parent / "vendor" / "public_suffix_list.dat"
WELL_KNOWN = "/.well-known/hansa-verify"
PREFIX = "hansa-verify="


class Proof(msgspec.Struct, frozen=True):
    """Statement that shows a namespace to be of the owner of a card: a TXT record of the domain, or a line of the file."""

    domain: str
    text: str

    @property
    def url(self) -> str:
        """Address of the file."""
        return f"https://{self.domain}{WELL_KNOWN}"

    def is_in(self, lines: Iterable[str]) -> bool:
        """Return whether one of the lines is the statement."""
        return any(line.strip() == self.text for line in lines)


def domain_of(server_name: str) -> str:
    """Return the domain of the namespace of a server."""
    return ".".join(reversed(server_name.partition("/")[0].lower().split(".")))


def proof_of(card_id: UUID, server_name: str, trust_domain: str) -> Proof:
    """Return the proof of a card: of no other card, server or registry."""
    named = f"{trust_domain}\n{card_id}\n{server_name}"
    return Proof(domain_of(server_name), PREFIX + sha256(named.encode()).hexdigest())


def why_unprovable(domain: str, urls: Iterable[str]) -> str | None:
    """Return the sentence why no statement of the domain proves anything about these remotes; None: one does."""
    labels = domain.split(".")
    if len(labels) < 2 or not is_public_host(domain) or labels[-1].isdigit():  # noqa: PLR2004
        return "The namespace is no domain name with two labels or more."
    if is_public_suffix(domain):
        return "The namespace is a public suffix, below which anybody may have a domain."
    hosts = [address.host if (address := read_web_address(url)) else "" for url in urls]
    if not hosts or not all(host == domain or host.endswith(f".{domain}") for host in hosts):
        return "The namespace is neither the host of the remote nor its parent."
    return None


def is_public_suffix(domain: str) -> bool:
    """Return whether anybody may register a domain below this one, by the Public Suffix List."""
    rules = _rules()
    if f"!{domain}" in rules:
        return False
    parent = domain.partition(".")[2]
    return bool(rules & {domain, f"*.{parent}", f"*.{domain}"}) or not parent


@cache
def _rules() -> frozenset[str]:
    """Rules of the list, in the ASCII form of names."""
    lines = (line.split() for line in LIST.read_text(encoding="utf-8").splitlines())
    written = (words[0] for words in lines if words and not words[0].startswith("//"))
    return frozenset(rule if rule.isascii() else _ascii(rule) for rule in written)


def _ascii(rule: str) -> str:
    return ".".join(label if label.isascii() else label.encode("idna").decode() for label in rule.split("."))

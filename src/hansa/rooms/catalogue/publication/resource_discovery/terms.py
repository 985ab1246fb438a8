"""Filter keys and facets of a query: the term of an entry that is meant, in each of its forms.

A key is a term's name (`tags`), its address (`https://agenticresourcediscovery.org/ns#tags`), or a name with a prefix that
the query's `@context` binds. Keys that resolve to the same address are the same term. A context that stands elsewhere is not
fetched.
"""

from typing import Any

import msgspec

from .errors import ArgumentInvalid
from .schemas import BASE_CONTEXT

NAMESPACE = "https://agenticresourcediscovery.org/ns#"
BINDINGS_MAX = 64
SUPPORTED = ("type", "publisher", "tags", "metadata.origin")


class Context(msgspec.Struct, frozen=True):
    """Bindings of a query beside the base context: prefixes of keys, and terms under other names."""

    bound: dict[str, str] = msgspec.field(default_factory=lambda: {"ard": NAMESPACE})

    def term(self, key: str) -> str:
        """The supported term that `key` means. Raises: ArgumentInvalid."""
        address = self._address(key)
        term = address.removeprefix(NAMESPACE) if address.startswith(NAMESPACE) else ""
        # The base context gives the term `type` this address.
        term = "type" if term == "mediaType" else term
        if term not in SUPPORTED:
            raise ArgumentInvalid(
                f"{_shown(key)}: entries are filtered and counted by {', '.join(SUPPORTED)}.", field="query"
            )
        return term

    def _address(self, key: str) -> str:
        if key.startswith(NAMESPACE):
            return key
        prefix, colon, rest = key.partition(":")
        if colon:
            return self.bound.get(prefix, "") + rest
        leading, dot, path = key.partition(".")
        return self.bound.get(leading, NAMESPACE + leading) + dot + path


def read_context(given: Any) -> Context:
    """Raises: ArgumentInvalid."""
    parts = given if isinstance(given, list) else [given]
    bound = Context().bound
    for part in parts:
        if isinstance(part, dict):
            bound |= _bindings(part)
        elif part is not None and part != BASE_CONTEXT:
            raise ArgumentInvalid(
                "@context: documents are not fetched; bind prefixes instead.", field="query"
            )
    if len(bound) > BINDINGS_MAX:
        raise ArgumentInvalid(f"@context: at most {BINDINGS_MAX} names can be bound.", field="query")
    return Context(bound)


def _bindings(part: dict[str, Any]) -> dict[str, str]:
    bound: dict[str, str] = {}
    for name, value in part.items():
        address = value.get("@id") if isinstance(value, dict) else value
        if name.startswith("@"):
            continue
        if not isinstance(address, str):
            raise ArgumentInvalid("@context: a name must be bound to an address.", field="query")
        bound[name] = address
    return bound


def _shown(key: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in key)[:100]

"""Identifiers of entries: `urn:air:<publisher>:<namespace>:<name>`.

The publisher is a trust domain, followed for an agent by the agent's DID as it stands, so that an identifier
is made from a DID and read back without knowing anything of how DIDs are built.
"""

import re
from typing import NamedTuple

from .errors import ArgumentInvalid

IDENTIFIER_MAX_CHARACTERS = 1024

_FORM = re.compile(r"urn:air:([a-zA-Z0-9.-]+):([a-zA-Z0-9._-]+(?::[a-zA-Z0-9._-]+)*)", re.ASCII)


class Identifier(NamedTuple):
    """Publisher of the entry, and the name of the entry there."""

    publisher: str
    name: str

    def __str__(self) -> str:
        return f"urn:air:{self.publisher}:{self.name}"

    @property
    def is_well_formed(self) -> bool:
        """Return whether it can be written: an identifier from a peer may hold other characters."""
        return _read(str(self)) == self


def read_identifier(text: str) -> Identifier:
    """Raises: ArgumentInvalid."""
    read = _read(text)
    if read is None:
        raise ArgumentInvalid(
            "The identifier must have the form urn:air:<publisher>:<namespace>:<name>.", field="identifier"
        )
    return read


def _read(text: str) -> Identifier | None:
    found = _FORM.fullmatch(text) if len(text) <= IDENTIFIER_MAX_CHARACTERS else None
    return Identifier(*found.groups()) if found else None

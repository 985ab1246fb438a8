"""Facts of the catalogue."""

from typing import ClassVar

from hansa.foundation.events.base import Event


class AgentCardPulled(Event, frozen=True):
    """A pull found that the card which an agent serves itself has changed, and the registry's with it.

    The hashes are SHA-256, in hex, over the canonical JSON of the document before and after.
    """

    aggregate_type: ClassVar[str] = "agent"

    did: str
    card_id: str
    changed_keys: list[str]
    old_hash: str
    new_hash: str

    @property
    def aggregate_id(self) -> str:
        return self.did

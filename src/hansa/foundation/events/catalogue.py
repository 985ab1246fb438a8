"""Facts of the catalogue."""

from hansa.foundation.events.base import AgentEvent


class AgentCardPulled(AgentEvent, frozen=True):
    """A pull found that the card which an agent serves itself has changed, and the registry's with it.

    The hashes are SHA-256, in hex, over the canonical JSON of the document before and after.
    """

    card_id: str
    changed_keys: list[str]
    old_hash: str
    new_hash: str

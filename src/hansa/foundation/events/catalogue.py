"""Facts of the catalogue."""

from typing import ClassVar

from hansa.foundation.events.base import REGISTRY_ACCOUNT, Event


class AgentCardPulled(Event, frozen=True):
    """Change of a card that its agent serves itself, or of the tools of its MCP server, and of the registry's card with it.

    The hashes are SHA-256, in hex, over the canonical JSON of the document before and after. `tools_sha256` and
    `former_tools_sha256` are of the tools that an imported MCP server lists; the former is null when they were first read.
    `developer_id` is stated of a card that belongs to no agent.
    """

    withheld: ClassVar[tuple[str, ...]] = ("developer_id",)

    did: str | None
    card_id: str
    changed_keys: list[str]
    old_hash: str
    new_hash: str
    tools_sha256: str | None = None
    former_tools_sha256: str | None = None
    developer_id: int | None = None

    @property
    def aggregate_id(self) -> str:
        return self.did or REGISTRY_ACCOUNT

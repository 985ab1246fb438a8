"""Tools of an imported MCP server on its card: a change is another version of the card, and an event."""

from hansa.foundation.events import AgentCardPulled
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import journal
from hansa.rooms.catalogue.mcp_servers.tools import Tools, document_with, hash_on, listing_with
from hansa.rooms.catalogue.replace import replace_document

from . import store
from .records import StoredCard


async def take_tools(tx: Tx, card_id: int, stored: StoredCard, tools: Tools) -> None:
    """Make the listed tools the skills of a locked card. Raises: CardInvalid."""
    present = await store.document_of(tx, card_id)
    former = hash_on(present)
    replaced = await replace_document(
        tx, card_id, document_with(tools, present), source="tools", stated=listing_with(tools, present)
    )
    await store.stamp_tools(tx, card_id)
    if replaced is None:
        return
    event = AgentCardPulled(
        did=stored.did,
        card_id=str(replaced.id),
        changed_keys=sorted(replaced.changed_keys),
        old_hash=replaced.old_hash,
        new_hash=replaced.new_hash,
        tools_sha256=tools.sha256,
        former_tools_sha256=former,
        developer_id=stored.developer_id if stored.did is None else None,
    )
    await journal.append(tx, event)

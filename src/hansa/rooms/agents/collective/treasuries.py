"""Treasury of an organization: the account of an agent that has no credentials and no key, with an unlisted card."""

from typing import Any
from uuid import UUID, uuid4

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.did import mint_did
from hansa.rooms import catalogue, federation, ledger
from hansa.rooms.agents.status import RequireUnbound, retire

from . import store


async def open_treasury(
    tx: Tx, *, organization_id: UUID, developer_id: int, document: dict[str, Any], settings: Settings
) -> str:
    """Open the treasury of a new organization and return its DID. Raises: catalogue.HumanReadableIdTaken."""
    did = mint_did(settings.did_method, settings.issuer, uuid4())
    card = await catalogue.publish_unlisted(
        tx,
        did=did,
        developer_id=developer_id,
        organization_id=organization_id,
        card_data=document,
        settings=settings,
    )
    await store.insert_treasury(tx, did, developer_id, organization_id, card.name)
    await federation.announce_did(tx, did, settings)
    await ledger.open_account(tx, did)
    return did


async def close_treasury(tx: Tx, did: str, require_unbound: RequireUnbound) -> None:
    """End a treasury whose account is empty. Raises: AccountHoldsUnits, CrossingPending, and the errors of `require_unbound`."""
    await store.lock_for_move(tx, did)
    await require_unbound(tx, did)
    await retire(tx, did, by="owner")

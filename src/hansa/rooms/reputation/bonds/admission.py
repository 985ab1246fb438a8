"""Admission of an agent to contracts of version 2, by the mode of bonds."""

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.telemetry.metrics import unbonded_accepts_total
from hansa.rooms import catalogue, commerce, transfers
from hansa.rooms.reputation.scores import track_record_of

from . import store
from .bond import State


async def bond_admits(
    tx: Tx, did: str, settings: Settings, required: commerce.Required | None = None
) -> bool:
    """Off: always. Observe: always, and counted. Enforce: with an active bond, which stays so in this transaction.

    With a requirement of the proposal also only an agent that meets it.

    The bond of an agent of another registry is the one in the card that its home signed.
    """
    if required is not None and not await _meets(tx, did, required):
        return False
    if settings.bond_mode == "off" or await store.share_state(tx, did) == State.ACTIVE:
        return True
    if await transfers.is_foreign(tx, did, settings) and await catalogue.is_stated_bonded_here(tx, did):
        return True
    unbonded_accepts_total.inc()
    return settings.bond_mode == "observe"


async def _meets(tx: Tx, did: str, required: commerce.Required) -> bool:
    """Return whether the bond of an agent reaches the requirement, or its verified jobs and their fees do."""
    if required.bond is not None:
        is_active = await store.share_state(tx, did) == State.ACTIVE
        bond = (await store.find(tx, did)).amount if is_active else 0
        if bond >= required.bond:
            return True
    if required.jobs is None:
        return False
    record = await track_record_of(tx, did)
    return record.jobs_verified >= required.jobs and record.fees >= required.fees

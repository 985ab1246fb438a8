"""The lists of issuers that this registry knows, as it states them to peers in a hint, and as a peer states them."""

from collections.abc import Mapping

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.federation.notices import judge_licences_soon

from . import store, verdicts_store

CLOCK_SKEW_SECONDS = 60


async def known_lists(tx: Tx, settings: Settings) -> dict[str, int]:
    """From when on a list of each issuer has all that this registry knows: the trust domain, in seconds since the epoch.

    After a change of the own certificates that is the second after the list that was signed last.
    """
    own = await store.list_state(tx)
    declared = await verdicts_store.newest_lists(tx)
    if own.has_certificates:
        declared[settings.trust_domain] = own.generated_at + own.is_due
    return declared


async def judge_if_newer(tx: Tx, stated: Mapping[str, int]) -> bool:
    """Let licences be judged at once where a peer states a newer list of an issuer than is kept; whether they are."""
    stored = await verdicts_store.newest_lists(tx)
    latest = (await clock.now(tx)).timestamp() + CLOCK_SKEW_SECONDS
    if not any(stored[issuer] < at <= latest for issuer, at in stated.items() if issuer in stored):
        return False
    await judge_licences_soon(tx)
    return True

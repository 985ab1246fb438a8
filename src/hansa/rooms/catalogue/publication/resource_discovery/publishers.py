"""Publishers of the entries that this registry shows: its own trust domain, and those of the peers that cards are mirrored from."""

from collections.abc import Collection

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.catalogue.search.query import LOCAL_ORIGIN

from . import store


async def trust_domains(tx: Tx, settings: Settings) -> dict[str, str]:
    """The trust domain of each origin."""
    return {**await store.trust_domains_of_peers(tx), LOCAL_ORIGIN: settings.trust_domain}


async def origins_of(tx: Tx, publishers: Collection[str], settings: Settings) -> set[str]:
    """The origins whose agents these publishers publish."""
    known = await trust_domains(tx, settings)
    return {origin for origin, domain in known.items() if domain in publishers}

"""Descriptor of the catalogue for the process."""

from contextlib import AbstractAsyncContextManager

from hansa.foundation.plumbing.jobs import sweep, sweep_of
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.room import Room, Routes
from hansa.foundation.plumbing.telemetry.metrics import (
    card_visits_total,
    peer_acts_total,
    search_index_current,
)
from hansa.rooms import federation

from .availability import CLOSE_DAYS, FORGET_DAYS, PROVE_IN_LOG, SEND_STATEMENTS
from .availability import peer_router as availability_peer_router
from .availability import router as availability_router
from .card_rights import AGENT_RIGHT, HELD_RIGHT
from .exports import router as exports_router
from .maintenance import HAS_LISTS_TO_KEEP, forget_deleted, index_texts, keep_lists_quick
from .mcp_servers import import_router, servers_router
from .owning import LOCK_AGENT
from .owning import router as owning_router
from .peer_acts import HINTS, NOTICES
from .peer_acts import peer_router as peer_acts_router
from .peer_acts import router as receipts_router
from .peer_jobs import (
    PEER_ACTS,
    PEER_CARDS,
    PEER_PLAN,
    PEERS_CARDS_LOOK,
    PEERS_LOOK,
    RECEIPTED,
    peers_from_the_start,
    read_peer,
)
from .peer_reading import remove_mirrors_of
from .publication import manifest_router, resource_discovery_router, well_known_router
from .pulls import CARD_PULLS, HEALTH_CHECKS, MIRROR_PROBES, NAMESPACE_PROOFS, VISIT_MADE
from .pulls import router as pulls_router
from .relays import discovered_registries
from .relays import peer_router as relays_peer_router
from .relays import router as relays_router
from .retire import ACCOUNT_END_OF_CARDS, erase_old
from .routes import router
from .search import CARDS_CHANGED, SEARCHER
from .search import router as search_router
from .showcase import router as showcase_router
from .signatures import AGENT_KEYS
from .signatures import router as signatures_router
from .store import HAS_TEXTS_TO_INDEX
from .versions.releases import RELEASES_OF_AGENT
from .versions.routes import router as versions_router


def _following(runtime: Runtime) -> AbstractAsyncContextManager[None]:
    return SEARCHER.of(runtime).following()


def _look_now(runtime: Runtime) -> None:
    SEARCHER.of(runtime).look_now()


ROOM = Room(
    name="catalogue",
    routes=(
        # Before the cards: `discover` is not the identifier of a card.
        Routes(900, search_router),
        Routes(910, showcase_router),
        # Before the cards: `import-mcp` is not the identifier of a card.
        Routes(950, import_router),
        Routes(1000, owning_router),
        # Before the cards: a path that ends in `versions` is not a humanReadableId.
        Routes(1100, versions_router),
        Routes(1200, router),
        Routes(1300, pulls_router),
        Routes(1400, signatures_router),
        Routes(1405, availability_router),
        Routes(1406, availability_peer_router),
        Routes(1410, exports_router),
        Routes(1415, relays_peer_router),
        Routes(1416, relays_router),
        Routes(1420, peer_acts_router),
        Routes(1430, receipts_router),
        Routes(1800, resource_discovery_router),
        Routes(3300, manifest_router, at_root=True),
        Routes(3400, well_known_router, at_root=True),
        Routes(3410, servers_router, at_root=True),
    ),
    reactors=(NOTICES,),
    jobs=(
        sweep("catalogue: erase old cards", 3600, erase_old),
        sweep_of("catalogue: index texts", 5, HAS_TEXTS_TO_INDEX, index_texts),
        sweep_of("catalogue: keep lists quick", 20, HAS_LISTS_TO_KEEP, keep_lists_quick, once_a_turn=True),
        CARD_PULLS,
        HEALTH_CHECKS,
        NAMESPACE_PROOFS,
        CLOSE_DAYS,
        FORGET_DAYS,
        SEND_STATEMENTS,
        MIRROR_PROBES,
        sweep("catalogue: forget deleted cards", 86_400, forget_deleted),
        PEER_PLAN,
        PEER_CARDS,
        PEER_ACTS,
        PEERS_CARDS_LOOK,
        PEERS_LOOK,
        HINTS,
        RECEIPTED,
    ),
    background=(_following, peers_from_the_start),
    wakes={CARDS_CHANGED: _look_now},
    settings=frozenset(
        {
            "access_token_expire_minutes",
            "base_url",
            "bond_mode",
            "card_liveness_interval_seconds",
            "card_pull_interval_seconds",
            "data_dir",
            "enforcement_propagation_mode",
            "extension_base",
            "federation_sync_interval_seconds",
            "is_operator",
            "jws_enforce",
            "jws_require_signature",
            "jws_verify_enabled",
            "outgoing_allow_user_hosts",
            "registry_name",
            "relay_cards",
            "require_admin_2fa",
            "settlement_currency",
            "take_relayed_cards",
            "ledger_id",
            "trust_domain",
        }
    ),
    metrics=(card_visits_total, peer_acts_total, search_index_current),
    account_end=ACCOUNT_END_OF_CARDS,
    offers=(AGENT_KEYS, AGENT_RIGHT, HELD_RIGHT, LOCK_AGENT, PROVE_IN_LOG, RELEASES_OF_AGENT, VISIT_MADE),
    fills=(
        federation.SYNC_PEER.filled_with(read_peer),
        federation.DISCOVERED.filled_with(discovered_registries),
        federation.PEER_REMOVED.filled_with(remove_mirrors_of),
    ),
)

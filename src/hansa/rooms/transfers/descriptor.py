"""Descriptor of the transfers room for the process."""

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.room import Room, Routes
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import federation

from .bridge import BRIDGE_OUTBOX, is_settled
from .bridge import end_with as end_sagas_with
from .bridge import peer_router as bridge_peer_router
from .bridge import router as bridge_router
from .crossing import (
    CROSSING_JOBS,
    DROPPING,
    HIGH_WATER_TASK,
    PAIR_ENDED,
    PAIR_REOPENED,
    PAYMENT_DECIDED,
    TOTALS_AGREED,
    Corridor,
    end_with,
    is_settled_with,
    open_send_queues,
    peer_router,
)
from .crossing_routes import crossing_router, crossing_state_router
from .pools import POOL_JOBS, fx_peer_router, fx_router, pools_admin_router
from .pools import end_with as end_pool_with
from .routes import router


async def _is_settled_with(tx: Tx, peer: federation.PeerRecord) -> bool:
    """Return whether no transfer with this peer and no saga of the bridge is under way."""
    bridge = peer.spiffe_id is None or await is_settled(tx, peer.spiffe_id)
    return bridge and await is_settled_with(tx, peer)


async def _end_with(tx: Tx, runtime: Runtime, peer: federation.PeerRecord) -> None:
    """End the transfers and sagas that are under way with a peer that is deleted, in this room and above it."""
    if peer.spiffe_id is None or peer.ledger_id is None:
        return
    corridor = Corridor.to(peer, runtime)
    await end_with(tx, corridor)
    await end_sagas_with(tx, corridor)
    await end_pool_with(tx, corridor.key, corridor.settings)
    await PAIR_ENDED.of(runtime)(tx, peer.spiffe_id)


ROOM = Room(
    name="transfers",
    # The hot routes are matched first.
    routes=(
        Routes(100, router),
        Routes(130, crossing_router),
        Routes(131, crossing_state_router),
        Routes(140, peer_router),
        Routes(141, bridge_router),
        Routes(142, bridge_peer_router),
        Routes(160, fx_router),
        Routes(170, fx_peer_router),
        Routes(180, pools_admin_router),
    ),
    jobs=(*CROSSING_JOBS, DROPPING, *BRIDGE_OUTBOX.kinds, *POOL_JOBS),
    settings=frozenset(
        {
            "agent_rbac_mode",
            "crossing_retention_days",
            "data_dir",
            "fx_breaker",
            "fx_rate_mode",
            "fx_reserve_floor",
            "fx_size_cap",
            "fx_slippage_max",
            "issuer",
            "peer_counted_fees_max",
            "settlement_currency",
            "teg_cross_frame_backend",
            "ledger_id",
            "trust_domain",
        }
    ),
    background=(open_send_queues,),
    rounds=(HIGH_WATER_TASK,),
    offers=(
        PAIR_ENDED,
        PAIR_REOPENED,
        PAYMENT_DECIDED,
        TOTALS_AGREED,
    ),
    fills=(
        federation.PEER_ENDED.filled_with(_end_with),
        federation.PEER_SETTLED.filled_with(_is_settled_with),
    ),
)

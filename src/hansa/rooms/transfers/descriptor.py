"""What the process needs to know of the transfers room."""

from hansa.foundation.plumbing.room import Room, Routes
from hansa.rooms import federation

from .crossing import CROSSING_JOBS, SIGNATORY, is_settled_with, peer_router
from .crossing_routes import crossing_router
from .pools import POOL_JOBS, fx_peer_router, fx_router, pools_admin_router
from .routes import router

ROOM = Room(
    name="transfers",
    # The hot routes are matched first.
    routes=(
        Routes(100, router),
        Routes(130, crossing_router),
        Routes(140, peer_router),
        Routes(160, fx_router),
        Routes(170, fx_peer_router),
        Routes(180, pools_admin_router),
    ),
    jobs=(*CROSSING_JOBS, *POOL_JOBS),
    settings=frozenset(
        {
            "agent_rbac_mode",
            "fx_breaker",
            "fx_rate_mode",
            "fx_reserve_floor",
            "fx_size_cap",
            "fx_slippage_max",
            "issuer",
            "settlement_currency",
            "teg_cross_frame_backend",
            "trust_domain",
        }
    ),
    offers=(SIGNATORY,),
    fills=(
        SIGNATORY.built_by(lambda runtime: federation.Signatory(runtime.database, runtime.seal)),
        federation.PEER_SETTLED.filled_with(is_settled_with),
    ),
)

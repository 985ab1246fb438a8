"""What the process needs to know of the transfers room."""

from hansa.foundation.plumbing.room import Room, Routes
from hansa.rooms import federation

from .crossing import (
    CROSSING_JOBS,
    HIGH_WATER,
    HIGH_WATER_TASK,
    OUTBOX,
    SIGNATORY,
    HighWater,
    Outbox,
    is_settled_with,
    open_outbox,
    peer_router,
)
from .crossing_routes import crossing_router
from .routes import router

ROOM = Room(
    name="transfers",
    # The hot routes are matched first.
    routes=(Routes(100, router), Routes(130, crossing_router), Routes(140, peer_router)),
    jobs=CROSSING_JOBS,
    settings=frozenset(
        {"agent_rbac_mode", "data_dir", "issuer", "settlement_currency", "teg_cross_frame_backend"}
    ),
    background=(open_outbox,),
    rounds=(HIGH_WATER_TASK,),
    offers=(HIGH_WATER, OUTBOX, SIGNATORY),
    fills=(
        HIGH_WATER.built_by(HighWater),
        OUTBOX.built_by(Outbox),
        SIGNATORY.built_by(lambda runtime: federation.Signatory(runtime.database, runtime.seal)),
        federation.PEER_SETTLED.filled_with(is_settled_with),
    ),
)

"""The tiled log (C2SP tlog-tiles): everything that the registry publishes and might deny, in one Merkle tree."""

from .errors import LogEmpty
from .proofs import Growth, Inclusion, prove_growth, prove_objects, prove_statements, read_checkpoint
from .routes import log_router, tile_router
from .schemas import InclusionOut
from .sequencer import LEAVES_AT_ONCE, append_and_sign
from .store import lock_log, publish_cosigned

__all__ = [
    "LEAVES_AT_ONCE",
    "Growth",
    "Inclusion",
    "InclusionOut",
    "LogEmpty",
    "append_and_sign",
    "lock_log",
    "log_router",
    "prove_growth",
    "prove_objects",
    "prove_statements",
    "publish_cosigned",
    "read_checkpoint",
    "tile_router",
]

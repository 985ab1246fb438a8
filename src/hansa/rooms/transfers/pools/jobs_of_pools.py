"""Background work of pools: peers follow the acts of this registry, and old quotes are deleted."""

from hansa.foundation.plumbing.jobs import LeasedKind, Retries, sweep, sweep_with_runtime

from . import store
from .acts import DELIVERY, deliver
from .on_card import follow_settings

FOLLOW_SECONDS = 60.0
FORGET_SECONDS = 3600.0

POOL_JOBS = (
    LeasedKind(
        DELIVERY, deliver, at_once=4, retries=Retries(None, pause_seconds=2.0, pause_max_seconds=60.0)
    ),
    sweep_with_runtime("transfers: terms of pools", FOLLOW_SECONDS, follow_settings),
    sweep("transfers: quotes that expired", FORGET_SECONDS, store.forget_quotes),
)

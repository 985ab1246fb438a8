"""Descriptor of the journal for the process."""

from contextlib import AbstractAsyncContextManager

from hansa.foundation.plumbing.jobs import sweep, sweep_of
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.room import Room, Routes
from hansa.foundation.plumbing.telemetry.metrics import (
    feed_events_total,
    feed_messages_total,
    feed_readers_dropped_total,
    feed_sockets,
    reactions_failed_total,
    reactions_set_aside_total,
    reactions_total,
)

from .counting import count_settled
from .counting_store import HAS_UNCOUNTED, HAS_VOLUME
from .feed import HAS_EXPIRED_TICKET, LIVE_FEED, OWNED_AMONG, forget_tickets
from .feed import root_router as feed_root_router
from .feed import router as feed_router
from .ledger_readings import LEDGER_READINGS
from .partitions import keep_partitions_ahead
from .routes import router
from .volume import add_settled_volume


def _following(runtime: Runtime) -> AbstractAsyncContextManager[None]:
    return LIVE_FEED.of(runtime).following()


ROOM = Room(
    name="journal",
    routes=(Routes(2100, router), Routes(2200, feed_router), Routes(3000, feed_root_router, at_root=True)),
    jobs=(
        sweep_of("journal: count what is settled", 5, HAS_UNCOUNTED, count_settled),
        sweep_of("journal: add settled payments to the volume", 60, HAS_VOLUME, add_settled_volume),
        sweep("journal: keep partitions ahead", 3600, keep_partitions_ahead),
        sweep_of("live feed: forget expired tickets", 60, HAS_EXPIRED_TICKET, forget_tickets),
    ),
    background=(_following,),
    settings=frozenset(
        {
            "base_url",
            "enable_projection_snapshots",
            "eventstore_ws_auth_required",
            "reactor_framework_enabled",
            "recent_events_ring",
            "settlement_currency",
            "ledger_id",
        }
    ),
    metrics=(
        feed_events_total,
        feed_messages_total,
        feed_readers_dropped_total,
        feed_sockets,
        reactions_failed_total,
        reactions_set_aside_total,
        reactions_total,
    ),
    offers=(LEDGER_READINGS, OWNED_AMONG),
)

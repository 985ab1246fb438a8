"""Descriptor of the governance room for the process."""

from hansa.foundation.plumbing.room import Room, Routes
from hansa.rooms import ledger

from .admin_routes import admin_router
from .deadlines import MEET_DEADLINES
from .routes import router
from .store import pinned_until

ROOM = Room(
    name="governance",
    routes=(Routes(1995, router), Routes(1996, admin_router)),
    jobs=(MEET_DEADLINES,),
    settings=frozenset(
        {
            "governance_weight_mode",
            "governance_stake_age_hours",
            "governance_proposal_min",
            "governance_min_hours",
            "governance_quorum_percent",
            "governance_execution",
            "governance_delay_hours",
        }
    ),
    fills=(ledger.STAKE_PINS.filled_with(pinned_until),),
)

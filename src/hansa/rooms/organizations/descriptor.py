"""Descriptor of the organizations room for the process."""

from hansa.foundation.plumbing.jobs import sweep
from hansa.foundation.plumbing.room import Room, Routes

from .account_end import ACCOUNT_END_OF_MEMBERSHIPS
from .invitations.store import forget
from .requests.store import expire
from .routes import router

ROOM = Room(
    name="organizations",
    routes=(Routes(1990, router),),
    jobs=(
        sweep("organizations: forget invitations", 600, forget),
        sweep("organizations: expire requests", 60, expire),
    ),
    settings=frozenset({"base_url", "registry_name"}),
    account_end=ACCOUNT_END_OF_MEMBERSHIPS,
)

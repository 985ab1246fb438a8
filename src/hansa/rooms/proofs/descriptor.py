"""Descriptor of the proofs room for the process."""

from hansa.foundation.plumbing.room import Room, Routes

from .routes import admin_router, attestations_router, circuits_router

ROOM = Room(
    name="proofs",
    routes=(
        Routes(2080, attestations_router),
        Routes(2081, circuits_router),
        Routes(2082, admin_router),
    ),
    settings=frozenset({"require_admin_2fa", "zkp_phases_enabled"}),
)

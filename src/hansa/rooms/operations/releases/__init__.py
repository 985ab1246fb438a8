"""Versions of the code behind a DID: one of an agent is active."""

from .activating import activate_release, make_active
from .errors import ReleaseUnknown
from .reading import active_release_of, lock_release, releases_of
from .records import NewRelease
from .registering import register_release, register_release_of
from .routes import agents_router, owners_router
from .schemas import CodeVersionIn

__all__ = [
    "CodeVersionIn",
    "NewRelease",
    "ReleaseUnknown",
    "activate_release",
    "active_release_of",
    "agents_router",
    "lock_release",
    "make_active",
    "owners_router",
    "register_release",
    "register_release_of",
    "releases_of",
]

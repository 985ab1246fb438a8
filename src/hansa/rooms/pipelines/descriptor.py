"""Descriptor of the pipelines room for the process."""

from hansa.foundation.plumbing.room import Room, Routes
from hansa.rooms import operations

from .bundling import BUNDLED
from .following import FORGET_OUTPUTS, RUNS_FOLLOW
from .routes import router
from .run_routes import runs_router
from .running import RUN_JOBS
from .sealing import SEALED_COLUMNS
from .template_routes import templates_router

ROOM = Room(
    name="pipelines",
    routes=(Routes(2060, runs_router), Routes(2061, router), Routes(2062, templates_router)),
    reactors=(RUNS_FOLLOW,),
    jobs=(RUN_JOBS, FORGET_OUTPUTS),
    settings=frozenset({"agent_rbac_mode"}),
    sealed=SEALED_COLUMNS,
    fills=(operations.PIPELINES_OF_BUNDLE.filled_with(BUNDLED),),
)

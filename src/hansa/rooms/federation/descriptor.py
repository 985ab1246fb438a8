"""What the process needs to know of the federation room."""

from hansa.foundation.plumbing.caller import LICENCE_CHECK, SERVICE_CHECK
from hansa.foundation.plumbing.room import Room, Routes

from .admission import check_licence
from .admission import router as admission_router
from .charter import admin_router, root_router, router
from .licences import admin_router as licences_admin_router
from .licences import root_router as licences_root_router
from .licences import router as licences_router
from .workloads import check_service

ROOM = Room(
    name="federation",
    routes=(
        Routes(1500, router),
        Routes(1600, admission_router),
        Routes(1700, admin_router),
        Routes(1750, licences_admin_router),
        Routes(1760, licences_router),
        Routes(3200, root_router, at_root=True),
        Routes(3210, licences_root_router, at_root=True),
    ),
    settings=frozenset(
        {
            "federation_root_hash",
            "is_central_registry",
            "operator_term_days",
            "public_base_url",
            "registry_name",
            "sovereign_mainframes",
            "trust_domain",
        }
    ),
    fills=(LICENCE_CHECK.filled_with(check_licence), SERVICE_CHECK.filled_with(check_service)),
)

"""The HTTP application: routers, guards, problem documents."""

from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

import msgspec
from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import Receive, Scope, Send

import hansa
from hansa.doors.assembly import ASSEMBLY
from hansa.doors.console import (
    account,
    account_pages,
    administration,
    agreements,
    attestation_pages,
    availability_pages,
    catalogue_pages,
    client_pages,
    connected,
    contract_pages,
    event_pages,
    federation_pages,
    find_page,
    governance_pages,
    guide_pages,
    licence_pages,
    log_in_pages,
    market_pages,
    operation_runs,
    organizations,
    own_agents,
    pages,
    proofs_page,
    receipt_pages,
    reference_pages,
    session_pages,
    status_page,
    supply_page,
    support,
    swap_pages,
    work_pages,
)
from hansa.doors.console.static_files import ConsoleFiles
from hansa.doors.console.style_sheets import STATIC
from hansa.doors.http import problems, status
from hansa.doors.http.api import description as api_description
from hansa.doors.http.connection.budgets import BUDGETS, Admissions, Budgets
from hansa.doors.http.guard import RequestGuard
from hansa.doors.http.route_index import RouteIndex
from hansa.doors.mcp import router as mcp_router
from hansa.foundation.plumbing.process.runtime import RUNTIME, Runtime
from hansa.foundation.plumbing.web.direct import (
    DirectMember,
    DirectTree,
    direct_handlers,
    direct_members,
    direct_trees,
)
from hansa.foundation.plumbing.web.lazy_routes import routes_below

API_PREFIX = "/api/v1"


class ServiceRoutes(msgspec.Struct, frozen=True):
    """Every route of the service, and the indexes that lead a request to its route."""

    routes: list[BaseRoute]
    route_index: RouteIndex
    direct: dict[tuple[str, str], Callable[[Request], Awaitable[Response]]]
    members: dict[tuple[str, str, str], DirectMember]
    trees: tuple[DirectTree, ...]
    described: api_description.DescribedRoutes = msgspec.field(
        default_factory=api_description.DescribedRoutes
    )


@cache
def service_routes() -> ServiceRoutes:
    """The routes of this process: they hold nothing of one registry, which are built when they are first used."""
    api = [*ASSEMBLY.api_routers, status.api_router, status.jobs_router]
    root = [
        *ASSEMBLY.root_routers,
        status.root_router,
        pages.direct_router,
        pages.router,
        reference_pages.router,
        operation_runs.router,
        guide_pages.router,
        client_pages.router,
        account_pages.router,
        catalogue_pages.direct_router,
        catalogue_pages.router,
        receipt_pages.router,
        log_in_pages.router,
        find_page.router,
        session_pages.router,
        *account.ROUTERS,
        *connected.ROUTERS,
        *own_agents.ROUTERS,
        *organizations.ROUTERS,
        *agreements.ROUTERS,
        *support.ROUTERS,
        *administration.ROUTERS,
        event_pages.direct_router,
        event_pages.router,
        contract_pages.router,
        supply_page.router,
        swap_pages.router,
        work_pages.router,
        governance_pages.router,
        attestation_pages.router,
        market_pages.router,
        federation_pages.router,
        proofs_page.router,
        licence_pages.router,
        status_page.router,
        status_page.showcase_router,
        availability_pages.router,
        mcp_router,
    ]
    routes: list[BaseRoute] = [
        Route(f"{API_PREFIX}/openapi.json", api_description.answer, include_in_schema=False),
        *(
            route
            for prefix, routers in ((API_PREFIX, api), ("", root))
            for router in routers
            for route in routes_below(
                prefix, router, generate_unique_id_function=api_description.operation_id
            )
        ),
        Mount("/static", ConsoleFiles(directory=STATIC), name="static"),
    ]
    direct_pages = [pages.direct_router, catalogue_pages.direct_router, event_pages.direct_router]
    direct = direct_handlers(ASSEMBLY.api_routers, API_PREFIX) | direct_handlers(
        [*ASSEMBLY.root_routers, *direct_pages, mcp_router], ""
    )
    members = direct_members(ASSEMBLY.api_routers, API_PREFIX)
    trees = direct_trees([*ASSEMBLY.root_routers, *direct_pages], "")
    return ServiceRoutes(routes, RouteIndex(routes), direct, members, trees)


class GuardedApp(FastAPI):
    """An application with the guard before everything else: direct routes pay for nothing that the framework does."""

    def __init__(self, service: ServiceRoutes, runtime: Runtime, **declared: Any) -> None:
        self._service = service
        # The state of an application is searched by a function, for each request.
        self._runtime = runtime
        super().__init__(**declared)
        self.state.runtime = runtime
        self.router.routes[:] = [service.route_index]
        self._guard = RequestGuard(
            super().__call__, direct=service.direct, members=service.members, trees=service.trees
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["app"] = self
        scope[RUNTIME] = self._runtime
        await self._guard(scope, receive, send)

    @property
    def routes(self) -> list[BaseRoute]:
        return self._service.routes

    @property
    def direct(self) -> dict[tuple[str, str], Callable[[Request], Awaitable[Response]]]:
        """The handlers of direct routes, by method and path."""
        return self._service.direct


def build_app(runtime: Runtime) -> FastAPI:
    """Return the application that serves with the runtime of the process."""
    service = service_routes()
    app = GuardedApp(
        service,
        runtime,
        title="Hansa",
        version=hansa.__version__,
        summary="A federated registry and ledger for AI agents.",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    BUDGETS.put(runtime, Budgets(app, app.direct, Admissions.usual()))
    problems.install(app)
    api_description.install(app, runtime, service.described)
    return app

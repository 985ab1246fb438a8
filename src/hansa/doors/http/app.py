"""The HTTP application: routers, guards, problem documents."""

from fastapi import FastAPI
from starlette.types import ASGIApp

import hansa
from hansa.doors import assembly
from hansa.doors.console import catalogue_pages, pages
from hansa.doors.console.rendering import STATIC, ConsoleFiles
from hansa.doors.http import api_description, problems, status
from hansa.doors.http.guard import RequestGuard
from hansa.foundation.plumbing.admission import Admission
from hansa.foundation.plumbing.direct import direct_handlers
from hansa.foundation.plumbing.limits import ReadLimiter
from hansa.foundation.plumbing.runtime import Runtime
from hansa.rooms import catalogue

API_PREFIX = "/api/v1"


class GuardedApp(FastAPI):
    """An application with the guard before everything else: direct routes pay for nothing that the framework does."""

    def build_middleware_stack(self) -> ASGIApp:
        direct = direct_handlers(assembly.API_ROUTERS, API_PREFIX)
        return RequestGuard(super().build_middleware_stack(), direct=direct)


def build_app(runtime: Runtime) -> FastAPI:
    """The application that serves with what the process holds."""
    app = GuardedApp(
        title="Hansa",
        version=hansa.__version__,
        summary="A federated registry and ledger for AI agents.",
        openapi_url=f"{API_PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.runtime = runtime
    app.state.gate = assembly.GATE
    app.state.admission = Admission()
    app.state.belongings = assembly.BELONGINGS
    app.state.group_commit = assembly.group_commit(runtime)
    app.state.export_desk = assembly.export_desk(runtime)
    app.state.event_counts = assembly.event_counts(runtime)
    app.state.ledger_readings = assembly.LEDGER_READINGS
    app.state.reactors = assembly.REACTORS
    app.state.is_developer_suspended = assembly.IS_DEVELOPER_SUSPENDED
    app.state.ownership = assembly.OWNERSHIP
    app.state.live_feed = assembly.live_feed(runtime)
    app.state.searcher = assembly.searcher(runtime)
    app.state.search_answers = catalogue.Answers(app.state.searcher, runtime.database)
    app.state.read_limiter = ReadLimiter(runtime.database, runtime.settings.rate_limit_reads)
    for router in assembly.API_ROUTERS:
        app.include_router(router, prefix=API_PREFIX)
    for router in assembly.ROOT_ROUTERS:
        app.include_router(router)
    app.include_router(status.api_router, prefix=API_PREFIX)
    app.include_router(status.root_router)
    app.include_router(pages.router)
    app.include_router(catalogue_pages.router)
    app.mount("/static", ConsoleFiles(directory=STATIC), name="static")
    problems.install(app)
    api_description.install(app)
    return app

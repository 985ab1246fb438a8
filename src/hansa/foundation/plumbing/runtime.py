"""What one serving process holds, and how a route asks for it."""

from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request
from fastapi.requests import HTTPConnection

from hansa.foundation.plumbing.authority import IdentityAuthority
from hansa.foundation.plumbing.database import Database
from hansa.foundation.plumbing.job_health import JobHealth
from hansa.foundation.plumbing.mail import Mailbox
from hansa.foundation.plumbing.outgoing import Outgoing
from hansa.foundation.plumbing.seal import Seal
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.tokens import TokenIssuer


@dataclass(frozen=True)
class Runtime:
    """The settings, the database and the desks of one process."""

    settings: Settings
    database: Database
    tokens: TokenIssuer
    mail: Mailbox
    outgoing: Outgoing
    internal_key: str
    """What callers of the internal routes show."""
    seal: Seal
    authority: IdentityAuthority | None
    """Who issues workload identities, or None where nobody does."""
    jobs: JobHealth = field(default_factory=JobHealth)
    """How the background jobs of this process are doing."""


def runtime_of(request: HTTPConnection) -> Runtime:
    """The runtime of the process that serves this request or socket."""
    runtime: Runtime = request.app.state.runtime
    return runtime


async def _jobs_of(request: Request) -> JobHealth:
    return runtime_of(request).jobs


async def _database_of(request: Request) -> Database:
    return runtime_of(request).database


async def _settings_of(request: Request) -> Settings:
    return runtime_of(request).settings


async def _tokens_of(request: Request) -> TokenIssuer:
    return runtime_of(request).tokens


async def _seal_of(request: Request) -> Seal:
    return runtime_of(request).seal


Db = Annotated[Database, Depends(_database_of)]
Config = Annotated[Settings, Depends(_settings_of)]
Tokens = Annotated[TokenIssuer, Depends(_tokens_of)]
Jobs = Annotated[JobHealth, Depends(_jobs_of)]
Sealing = Annotated[Seal, Depends(_seal_of)]

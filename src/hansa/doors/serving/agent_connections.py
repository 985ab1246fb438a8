"""Agents on the federation listener: a certificate whose identity has ended opens nothing, also on open connections.

- Each request of an agent's certificate is judged by the database before the application sees it.
- The connections that are open are looked at four times a second, and each new one at once: those of an ended identity
  are cut off, idle ones and WebSockets too.
"""

import asyncio
import ssl
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from cryptography import x509
from fastapi import FastAPI, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from hansa.doors.http.problems import answered
from hansa.doors.serving.trusted_domains import TrustedDomains
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.values.errors import Refused, Unauthorized
from hansa.rooms import agents

LOOK_SECONDS = 0.25
IDENTITY = "hansa.agent_identity"


class IdentityEnded(Unauthorized):
    """The certificate belongs to an agent whose workload identity was revoked or disabled."""

    code = "IDENTITY_ENDED"
    sentence = "The workload identity of this certificate was revoked or disabled."


class AgentConnections:
    """The application as the federation listener serves it, and the connections of agents that are open on it."""

    def __init__(self, app: FastAPI, database: Database, trusted: TrustedDomains) -> None:
        self.state = app.state
        self.trusted = trusted
        self._app = app
        self._database = database
        self._open: defaultdict[str, set[asyncio.Transport]] = defaultdict(set)
        self._opened = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        identity = scope.get("extensions", {}).get("tls", {}).get(IDENTITY)
        if identity is None:
            await self._app(scope, receive, send)
            return
        try:
            ended = await self._database.query(lambda tx: agents.identities_ended(tx, [identity]))
            error: Refused | None = IdentityEnded() if ended else None
        except Refused as out_of_reach:
            error = out_of_reach
        if error is None:
            await self._app(scope, receive, send)
        else:
            scope["app"] = self._app
            response = await answered(_raising(error), Request(scope, receive))
            response.headers["Connection"] = "close"
            await response(scope, receive, send)

    def opened(self, identity: str, transport: asyncio.Transport) -> None:
        """Note a connection that an agent opened."""
        self._open[identity].add(transport)
        self._opened.set()

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Cut off, meanwhile, the connections of identities that have ended."""
        task = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _watch(self) -> None:
        while True:
            self._opened.clear()
            self._forget_closed()
            if self._open:
                await self._cut_off_ended()
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS if self._open else None):
                    await self._opened.wait()

    def _forget_closed(self) -> None:
        # A connection that became a WebSocket ends without a word to the protocol that began it.
        for identity, transports in list(self._open.items()):
            transports -= {transport for transport in transports if transport.is_closing()}
            if not transports:
                del self._open[identity]

    async def _cut_off_ended(self) -> None:
        identities = list(self._open)
        # While the database is out of reach nothing is opened either.
        with suppress(Refused):
            for identity in await self._database.query(lambda tx: agents.identities_ended(tx, identities)):
                for transport in list(self._open.get(identity, ())):
                    transport.abort()


def agent_identity(certificate: bytes, trust_domain: str) -> str | None:
    """The SPIFFE id in a certificate that the handshake has verified, if it is an agent's."""
    names = x509.load_der_x509_certificate(certificate).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    of_agents = f"spiffe://{trust_domain}/agent/"
    uris = names.value.get_values_for_type(x509.UniformResourceIdentifier)
    return next((uri for uri in uris if uri.startswith(of_agents)), None)


def presented_by(transport: asyncio.Transport) -> bytes:
    """The certificate that the client of a connection showed, in DER."""
    connection: ssl.SSLObject = transport.get_extra_info("ssl_object")
    certificate = connection.getpeercert(binary_form=True)
    assert certificate is not None, "the handshake demands a certificate"
    return certificate


def _raising(error: Refused) -> Any:
    async def refuse(_: Request) -> Response:
        raise error

    return refuse

"""The paying clients: httpx2 clients whose transport pays."""

from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx2

from hansa_client.amounts import Amount
from hansa_client.asynchronous import AsyncRegistry
from hansa_client.bounded import AsyncEventStream, EventStream, with_bounded_events
from hansa_client.synchronous import Registry
from hansa_client.trust import trusted_authorities

from .asynchronous.payer import PATIENCE_SECONDS, AsyncPayer
from .budget import Budget
from .journal import Journal
from .synchronous.payer import Payer
from .wallet import WalletSigner

TIMEOUT_SECONDS = 60.0


class AsyncPayingTransport(httpx2.AsyncBaseTransport):
    """Sends requests, paid where they have to be."""

    def __init__(self, payer: AsyncPayer, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        self._payer = payer
        self._transport = transport or _direct()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """See AsyncPayer.send; each event of a stream is bounded."""
        response = await self._payer.send(request, self._transport.handle_async_request)
        return with_bounded_events(response, AsyncEventStream)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()


class PayingTransport(httpx2.BaseTransport):
    """Sends requests, paid where they have to be."""

    def __init__(self, payer: Payer, transport: httpx2.BaseTransport | None = None) -> None:
        self._payer = payer
        self._transport = transport or httpx2.HTTPTransport(verify=trusted_authorities(trust_env=False))

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """See Payer.send; each event of a stream is bounded."""
        return with_bounded_events(self._payer.send(request, self._transport.handle_request), EventStream)

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()


class AsyncPayingClient(httpx2.AsyncClient):
    """An `httpx2.AsyncClient` that pays for its calls as an agent of `registry`, within `budget`.

    `max_amount` is the most one call may cost, where the call does not state its own (`paying`). `journal` is a file
    that any number of programs share. A `wallet` that is bound to the agent, such as an account of `eth_account`, signs
    for services that x402 pays; those have to be called with `paying(payee=…)` unless they name their payee.
    """

    def __init__(
        self,
        registry: AsyncRegistry,
        *,
        max_amount: Amount | None = None,
        budget: Budget | None = None,
        journal: Journal | Path | str | None = None,
        patience_seconds: float = PATIENCE_SECONDS,
        wallet: WalletSigner | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
        **options: Any,
    ) -> None:
        self.journal = journal if isinstance(journal, Journal) else Journal(journal)
        self._owns_journal = self.journal is not journal
        payer = AsyncPayer(registry, self.journal, _budget(budget, max_amount), patience_seconds, wallet)
        stated = {"timeout": TIMEOUT_SECONDS, "follow_redirects": False, **options}
        super().__init__(transport=AsyncPayingTransport(payer, transport), **stated)

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        return self

    async def aclose(self) -> None:
        """Close the connections and the journal."""
        await super().aclose()
        self._close_journal()

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        await super().__aexit__(exc_type, exc_value, traceback)
        self._close_journal()

    def _close_journal(self) -> None:
        if self._owns_journal:
            self.journal.close()


class PayingClient(httpx2.Client):
    """An `httpx2.Client` that pays for its calls; see AsyncPayingClient."""

    def __init__(
        self,
        registry: Registry,
        *,
        max_amount: Amount | None = None,
        budget: Budget | None = None,
        journal: Journal | Path | str | None = None,
        patience_seconds: float = PATIENCE_SECONDS,
        wallet: WalletSigner | None = None,
        transport: httpx2.BaseTransport | None = None,
        **options: Any,
    ) -> None:
        self.journal = journal if isinstance(journal, Journal) else Journal(journal)
        self._owns_journal = self.journal is not journal
        payer = Payer(registry, self.journal, _budget(budget, max_amount), patience_seconds, wallet)
        stated = {"timeout": TIMEOUT_SECONDS, "follow_redirects": False, **options}
        super().__init__(transport=PayingTransport(payer, transport), **stated)

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def close(self) -> None:
        """Close the connections and the journal."""
        super().close()
        self._close_journal()

    def __exit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        super().__exit__(exc_type, exc_value, traceback)
        self._close_journal()

    def _close_journal(self) -> None:
        if self._owns_journal:
            self.journal.close()


def _budget(budget: Budget | None, max_amount: Amount | None) -> Budget:
    stated = budget or Budget()
    return stated if max_amount is None else stated.with_per_call(max_amount)


def _direct() -> httpx2.AsyncBaseTransport:
    from hansa_client.aiohttp_transport import AsyncAiohttpTransport

    return AsyncAiohttpTransport()

"""Shared parts of the adapters of one paid service: its registry, its store, its terms, and the rounds that collect."""

import asyncio
import contextlib
import logging
import os
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx2

from hansa_client import AgentCredentials, AsyncRegistry, RetryPolicy
from hansa_client.errors import HansaError
from hansa_client.receipts import DeliveryReceipt, sign_receipt, signing_key_of

from . import refusals
from .admission import Admission, Stored, Working
from .challenge import Challenge, X402Network
from .collecting import collect, token_of
from .identity import UseIds
from .issuers import IssuerNotTrusted, TrustedIssuers, read_registries
from .network import native_network
from .refusals import Refused
from .store import KEPT_SECONDS, Store, StoreUnavailable, open_store
from .terms import Captures, Order, Presented, Terms, price_of

log = logging.getLogger(__name__)

LEASE_SECONDS = 30.0
ANSWER_MAX_BYTES = 8 * 1024 * 1024
VERIFY_TIMEOUT_SECONDS = 10.0
COLLECT_SECONDS = 2.0
COLLECT_AGAIN_SECONDS = 15.0
COLLECT_LIMIT = 20
PURGE_ROUNDS = 300
STOP_SECONDS = 20.0
# A registry without x402 is asked again now and then.
X402_AGAIN_SECONDS = 60.0
Price = str | Decimal | int
ACCEPTED = {"true": True, "false": False, "": False}


class PaidCalls:
    """Decides on calls and collects their payments."""

    def __init__(
        self,
        *,
        agent_did: str,
        registry_url: str,
        credentials: AgentCredentials | None = None,
        accept_caller_capture: bool | str | Iterable[str] = False,
        price: Price | None = None,
        currency: str | None = None,
        trusted_registries: str | Iterable[str | Mapping[str, str]] = (),
        registry_names: Iterable[str] = (),
        store: str | Path = "paid-calls.db",
        machines: int = 1,
        lease_seconds: float = LEASE_SECONDS,
        answer_max_bytes: int = ANSWER_MAX_BYTES,
        signing_key_pem: str | None = None,
        http_transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        """With `credentials` only tokens with `capture_by: payee` are accepted, without them only reserved ones.

        With `accept_caller_capture` tokens that their callers settle are accepted too, reserved or not: a caller may then free
        its token after it has received the answer. `True` accepts those of every trusted registry, addresses of registries those of
        these alone. A token that the registry settles (`buy`) is always accepted.

        `registry_names` are further addresses of the own registry.

        `lease_seconds` is how long a claim, and on Redis also work, is left to a process that does not renew it.

        With `signing_key_pem`, the private key of the agent, answers carry a signed delivery receipt.

        Raises: ValueError, TypeError.
        """
        self.agent_did = agent_did
        self.price = None if price is None else price_of(price)
        self.answer_max_bytes = answer_max_bytes
        self.issuers = TrustedIssuers.of(registry_url, read_registries(trusted_registries), registry_names)
        self._currency = currency
        self._credentials = credentials
        self._captures = self._captures_of(credentials, accept_caller_capture)
        self._signing_key = None if signing_key_pem is None else signing_key_of(signing_key_pem)
        self._lease_seconds = lease_seconds
        self._http_transport = http_transport
        self._store: Store = open_store(store, machines=machines)
        self._registries: dict[str, AsyncRegistry] = {}
        self._admission: Admission | None = None
        self._x402: X402Network | None = None
        self._x402_asked_again_at = 0.0
        self._starting = asyncio.Lock()
        self._collecting: asyncio.Task[None] | None = None
        self._calls: set[asyncio.Task[Any]] = set()

    @property
    def captures(self) -> bool:
        """Return whether it captures payments itself."""
        return self._captures.by_service

    def _captures_of(
        self, credentials: AgentCredentials | None, accepted: bool | str | Iterable[str]
    ) -> Captures:
        if isinstance(accepted, bool):
            return Captures(credentials is not None, accepted)
        try:
            callers_of = frozenset(map(self.issuers.address, read_registries(accepted)))
        except IssuerNotTrusted as error:
            raise ValueError(f"accept_caller_capture: {error}") from None
        return Captures(credentials is not None, callers_of=callers_of)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ, **more: Any) -> Self:
        """The service that the variables of the environment describe.

        They are REGISTRY_URL, AGENT_DID, CLIENT_ID, CLIENT_SECRET, PRICE, TRUSTED_REGISTRIES, PAID_CALLS_STORE,
        MACHINES, PRIVATE_KEY_PEM and ACCEPT_CALLER_CAPTURE (`true`, or addresses of registries).

        Raises: ValueError naming the variable.
        """
        missing = [name for name in ("REGISTRY_URL", "AGENT_DID") if not environment.get(name)]
        if missing:
            raise ValueError(f"set {' and '.join(missing)} in the environment")
        client_id, client_secret = environment.get("CLIENT_ID"), environment.get("CLIENT_SECRET")
        accepted = environment.get("ACCEPT_CALLER_CAPTURE", "").strip()
        stated: dict[str, Any] = {
            "agent_did": environment["AGENT_DID"],
            "registry_url": environment["REGISTRY_URL"],
            "credentials": AgentCredentials(client_id, client_secret)
            if client_id and client_secret
            else None,
            "accept_caller_capture": ACCEPTED.get(accepted.lower(), accepted),
            "price": environment.get("PRICE"),
            "trusted_registries": environment.get("TRUSTED_REGISTRIES", ""),
            "store": environment.get("PAID_CALLS_STORE", "paid-calls.db"),
            "machines": int(environment.get("MACHINES", "1")),
            "signing_key_pem": environment.get("PRIVATE_KEY_PEM") or None,
        }
        return cls(**{**stated, **more})

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> Admission:
        """Open the store and begin to collect due payments. Repeatable. Raises: StoreUnavailable, ValueError."""
        async with self._starting:
            if self._admission is None:
                await self._store.open()
                secret = self._credentials.client_secret if self._credentials else ""
                self._admission = Admission(
                    agent_did=self.agent_did,
                    store=self._store,
                    issuers=self.issuers,
                    registry_at=self._registry_at,
                    secret=secret,
                    captures=self._captures,
                    use_ids=UseIds(self.agent_did, self._store.store_id),
                    lease_seconds=self._lease_seconds,
                )
                self._collecting = asyncio.create_task(self._collect())
            return self._admission

    async def stop(self) -> None:
        """Wait for the calls that are being worked on, then close the store."""
        if self._calls:
            await asyncio.wait(self._calls, timeout=STOP_SECONDS)
        if self._collecting:
            self._collecting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._collecting
        for registry in self._registries.values():
            await registry.aclose()
        self._registries.clear()
        if self._admission:
            await self._store.close()
        self._admission = self._collecting = None

    async def admit(
        self, presented: Presented | None, terms: Terms, order: Order
    ) -> Working | Stored | Refused:
        """Decide on one call."""
        if presented is None:
            return refusals.payment_required()
        try:
            admission = await self.start()
        except StoreUnavailable as error:
            log.warning("%s", error)
            return refusals.store_unavailable()
        return await admission.admit(presented, terms, order)

    async def terms(self, price: Price | None = None) -> Terms:
        """The terms of a call. Raises: ValueError where neither the call nor the service has a price; HansaError."""
        amount = self.price if price is None else price_of(price)
        if amount is None:
            raise ValueError("a paid call needs a price: pass it to the adapter or to PaidService")
        if self._currency is None:
            self._currency = (await self._registry_at(self.issuers.own).config()).settlement_currency
        return Terms(amount, self._currency)

    async def challenge(self, terms: Terms, resource: str) -> Challenge:
        """Return the answer to a call that is not paid."""
        now = asyncio.get_running_loop().time()
        if self.captures and self._x402 is None and now >= self._x402_asked_again_at:
            self._x402_asked_again_at = now + X402_AGAIN_SECONDS
            self._x402 = await native_network(self._registry_at(self.issuers.own))
        return Challenge(self.agent_did, terms, self.issuers.accepted, self._captures, resource, self._x402)

    def receipt_of(self, token_id: str, request: bytes, answer: bytes) -> str | None:
        """The signed receipt of an answer; None for a service without a signing key."""
        if self._signing_key is None:
            return None
        return sign_receipt(DeliveryReceipt.of(token_id, request, answer), self._signing_key)

    async def receipt(self, token_id: str) -> str | None:
        """The delivery receipt that was signed for a token, as evidence of the service. Raises: StoreUnavailable."""
        await self.start()
        return await self._store.receipt(token_id)

    def keep_running(self, call: asyncio.Task[Any]) -> None:
        """Let a call end although its client went away."""
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)

    def _registry_at(self, address: str) -> AsyncRegistry:
        if address not in self._registries:
            is_own = address == self.issuers.own
            self._registries[address] = AsyncRegistry(
                address,
                agent=self._credentials if is_own else None,
                retries=RetryPolicy(attempts=3, pause_seconds_max=2.0),
                timeout_seconds=VERIFY_TIMEOUT_SECONDS,
                http_transport=self._http_transport,
            )
        return self._registries[address]

    async def _collect(self) -> None:
        """Capture and release the payments that a stopped process left, for ever; a failure is tried again at the next round."""
        rounds = 0
        while True:
            try:
                await self._collect_once()
                if rounds % PURGE_ROUNDS == 0:
                    await self._store.purge(KEPT_SECONDS)
            except (StoreUnavailable, HansaError) as error:
                log.warning("payments are collected later: %s", error)
            rounds += 1
            await asyncio.sleep(COLLECT_SECONDS)

    async def _collect_once(self) -> None:
        if self._credentials is None:
            return
        for entry in await self._store.due(COLLECT_LIMIT, COLLECT_AGAIN_SECONDS):
            token = token_of(entry, self._credentials.client_secret)
            if token is not None:
                await collect(self._store, self._registry_at(self.issuers.own), entry, token)

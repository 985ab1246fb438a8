"""One paid call from its token to its answer: claim, verify, work, store the answer, collect.

- The work of a token runs at most once: the entry of the store goes from claimed to running once.
- No conclusion is drawn from a store that does not answer: the payment is neither released nor captured, the caller
  repeats the call with the same token.
- A payment that the service captures is captured before the answer is returned, and only when the answer is stored.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeVar

from hansa_client import AsyncRegistry
from hansa_client.errors import HansaError
from hansa_client.records.payments import Verification

from . import refusals
from .collecting import collect, facts_as_text, facts_from_text
from .identity import UseIds
from .issuers import IssuerNotTrusted, TrustedIssuers
from .refusals import Outcome, Refused
from .sealing import ANSWER_PURPOSE, TOKEN_PURPOSE, hash_of, seal, unseal
from .store import DUE, Answer, Claim, Entry, Payment, Receipt, State, Store, StoreUnavailable, Work
from .terms import TOKEN, Captures, Facts, Order, Presented, Terms, facts_of, refusal_of

log = logging.getLogger(__name__)
T = TypeVar("T")

RENEWALS_PER_LEASE = 4
CONFIRM_SECONDS = 30.0
PAUSE_SECONDS = 0.1
# With the time for the verification less than the minute that a payer waits for an answer.
CAPTURE_SECONDS = 25.0


@dataclass(frozen=True)
class Stored:
    """An answer that is stored and, where the service captures, paid."""

    content: bytes
    outcome: Outcome
    facts: Facts
    settlement_tx_id: str | None


@dataclass
class Admission:
    """Decides on calls; shared by all calls of a process."""

    agent_did: str
    store: Store
    issuers: TrustedIssuers
    registry_at: Callable[[str], AsyncRegistry]
    secret: str = field(repr=False)
    captures: Captures
    use_ids: UseIds
    lease_seconds: float
    confirm_seconds: float = CONFIRM_SECONDS

    async def admit(self, presented: Presented, terms: Terms, order: Order) -> "Working | Stored | Refused":
        """Decide on a presented payment: to work for it, to repeat a stored answer, or to refuse."""
        try:
            address = self.issuers.address(presented.issuer)
        except IssuerNotTrusted as error:
            return refusals.issuer_not_trusted(str(error))
        if not TOKEN.fullmatch(presented.token):
            return refusals.payment_refused(
                "TOKEN_MALFORMED", "A payment token is apt_ and 64 hexadecimal digits."
            )
        token_hash = hash_of(presented.token)
        try:
            owner = self.store.new_owner()
            claim = Claim(token_hash, self.use_ids.new(), owner, order.fingerprint, self.lease_seconds)
            entry = await self.store.claim(claim)
            if entry.fingerprint != order.fingerprint:
                return refusals.token_used()
            if entry.owner != owner or entry.state is not State.CLAIMED:
                return await self._existing(entry, presented.token)
            return await self._verified(entry, presented, address, terms, order)
        except StoreUnavailable as error:
            log.warning("%s", error)
            return refusals.store_unavailable()

    async def _verified(
        self, entry: Entry, presented: Presented, address: str, terms: Terms, order: Order
    ) -> "Working | Stored | Refused":
        try:
            verdict = await self.registry_at(address).payments.verify(
                presented.token, target_agent_did=self.agent_did, use_id=entry.use_id
            )
        except HansaError as failure:
            log.warning("%s does not verify: %s", address, type(failure).__name__)
            # The use_id stays with the entry: the next attempt learns whether this one was the first use.
            await self.store.pause(entry.token_hash, entry.owner)
            return refusals.issuer_unavailable()
        facts = facts_of(verdict, address, by_x402=presented.by_x402)
        if facts is None or verdict.target_agent_did != self.agent_did:
            await self.store.withdraw(entry.token_hash, entry.owner)
            reason = (verdict.error or "Token not issued for this agent").rstrip(".")
            return refusals.payment_refused("TOKEN_REFUSED", f"The registry refused the token: {reason}.")
        captures = self.captures.of_issuer(address, self.issuers.own)
        can_capture = captures.by_service
        if self._is_lost(verdict, entry):
            return await self._freed(entry, presented, facts, refusals.work_lost(), can_capture=can_capture)
        refused = refusal_of(verdict, facts, terms, order, captures)
        if refused:
            return await self._freed(entry, presented, facts, refused, can_capture=can_capture)
        return await self._started(entry, presented, facts)

    def _is_lost(self, verdict: Verification, entry: Entry) -> bool:
        """First used by this agent's kit under an entry that the store no longer has."""
        first = verdict.first_use_id
        return verdict.first_use is False and first != entry.use_id and self.use_ids.is_own(first)

    async def _freed(
        self, entry: Entry, presented: Presented, facts: Facts, refused: Refused, *, can_capture: bool
    ) -> Refused:
        """Refuse a token that was consumed; units that the payee holds are returned to the payer."""
        if not (facts.is_captured_by_payee and can_capture):
            if refused.code != "WORK_LOST":
                await self.store.withdraw(entry.token_hash, entry.owner)
                return refused
            await self.store.lose(
                entry.token_hash, entry.owner, Work(facts_as_text(facts), Payment.REPORTED, None)
            )
            return refused
        work = Work(facts_as_text(facts), Payment.RELEASE, self._sealed(presented.token))
        await self.store.lose(entry.token_hash, entry.owner, work)
        await self._collected(await self.store.read(entry.token_hash), presented.token)
        return refused

    async def _started(self, entry: Entry, presented: Presented, facts: Facts) -> "Working | Refused":
        held = facts.is_captured_by_payee
        sealed = self._sealed(presented.token) if held else None
        work = Work(facts_as_text(facts), Payment.HELD if held else Payment.REPORTED, sealed)
        # A start that is not confirmed may have taken effect; it is repeated while the lease lasts.
        begun = await self._confirmed(
            lambda: self.store.start(entry.token_hash, entry.owner, work), self.lease_seconds / 2
        )
        if not begun:
            return refusals.work_in_progress(0)
        return Working(self, entry, presented.token, facts)

    async def _existing(self, entry: Entry, token: str) -> Stored | Refused:
        match entry.state:
            case State.CLAIMED | State.RUNNING:
                return refusals.work_in_progress(entry.lease_left)
            case State.LOST:
                await self._collected(entry, token)
                return refusals.work_lost()
            case State.ANSWERED:
                return await self.answer(entry, token)

    async def answer(self, answered: Entry, token: str) -> Stored | Refused:
        """The stored answer, once its payment is collected. Raises: StoreUnavailable."""
        entry = await self._collected(answered, token)
        if entry is None or entry.answer is None or entry.facts is None:
            return refusals.work_lost()
        if entry.payment is Payment.CAPTURE:
            return refusals.capture_pending()
        if entry.payment is Payment.UNCOLLECTABLE:
            return refusals.not_captured()
        sealed = unseal(token, ANSWER_PURPOSE, entry.answer, entry.token_hash)
        return Stored(sealed[1:], _OUTCOMES[sealed[:1]], facts_from_text(entry.facts), entry.settlement_tx_id)

    async def _collected(self, entry: Entry | None, token: str) -> Entry | None:
        """Return the entry after its due payment was tried once; a payment that takes longer is left to the rounds that collect."""
        if entry is None or entry.payment not in DUE:
            return entry
        try:
            async with asyncio.timeout(CAPTURE_SECONDS):
                return await collect(self.store, self.registry_at(self.issuers.own), entry, token)
        except TimeoutError:
            log.warning("a payment is not yet settled: the registry does not answer")
            return entry

    def _sealed(self, token: str) -> bytes:
        return seal(self.secret, TOKEN_PURPOSE, token.encode(), hash_of(token))

    async def _confirmed(self, act: Callable[[], Awaitable[T]], seconds: float) -> T:
        """Repeat an act that may be repeated until the store confirms it. Raises: StoreUnavailable after `seconds`."""
        loop = asyncio.get_running_loop()
        end, pause = loop.time() + seconds, PAUSE_SECONDS
        while True:
            try:
                return await act()
            except StoreUnavailable:
                if loop.time() + pause >= end:
                    raise
            await asyncio.sleep(pause)
            pause = min(pause * 2, 2.0)


_MARKS = {Outcome.DELIVERED: b"d", Outcome.FAILED: b"f"}
_OUTCOMES = {mark: outcome for outcome, mark in _MARKS.items()}


class Working:
    """The right to do the work of one token; `finish` must follow, in every case.

    A lease that cannot be renewed is tried again until the work ends: one failure of the store ends nothing.
    """

    def __init__(self, admission: Admission, entry: Entry, token: str, facts: Facts) -> None:
        self.facts = facts
        self.capture_amount: Decimal | None = None
        """What to capture of a payment that the service captures; None is all of it."""
        self._admission, self._entry, self._token = admission, entry, token
        self._renewals = _Renewals(admission, entry)

    async def finish(self, content: bytes, outcome: Outcome, receipt: str | None = None) -> Stored | Refused:
        """Store the answer and its delivery receipt, then collect. The answer returned may be sent; never raises."""
        admission, token_hash = self._admission, self._entry.token_hash
        sealed = seal(self._token, ANSWER_PURPOSE, _MARKS[outcome] + content, token_hash)
        kept = None if receipt is None else Receipt(self.facts.token_id, receipt)
        answer = Answer(sealed, self._payment(outcome), self._capture_text(), kept)
        try:
            stored = await admission._confirmed(  # noqa: SLF001
                lambda: admission.store.finish(token_hash, self._entry.owner, answer),
                admission.confirm_seconds,
            )
            self._renewals.end()
            if stored is None:
                return refusals.work_lost()
            if answer.payment is Payment.REPORTED:
                return Stored(content, outcome, self.facts, None)
            return await admission.answer(stored, self._token)
        except StoreUnavailable as error:
            log.warning("an answer is not confirmed as stored: %s", error)
            return refusals.store_unavailable()
        finally:
            self._renewals.end()

    async def abandon(self) -> None:
        """End the work without an answer; it counts as lost. A store that does not answer gives it up later."""
        self._renewals.end()
        try:
            await self._admission.store.pause(self._entry.token_hash, self._entry.owner)
        except StoreUnavailable as error:
            log.warning("work that was cancelled is given up later: %s", error)

    def _payment(self, outcome: Outcome) -> Payment:
        if not self.facts.is_captured_by_payee:
            return Payment.REPORTED
        is_free = self.capture_amount is not None and self.capture_amount <= 0
        return Payment.RELEASE if outcome is Outcome.FAILED or is_free else Payment.CAPTURE

    def _capture_text(self) -> str | None:
        if self.capture_amount is None:
            return None
        return format(min(self.capture_amount, self.facts.amount), "f")


class _Renewals:
    """Renews the lease of work until it ends; a task is made only for work that lasts so long."""

    def __init__(self, admission: Admission, entry: Entry) -> None:
        self._admission, self._entry = admission, entry
        self._pause_seconds = admission.lease_seconds / RENEWALS_PER_LEASE
        self._task: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(self._pause_seconds, self._begin)

    def end(self) -> None:
        """Renew no more."""
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _begin(self) -> None:
        self._task = asyncio.create_task(self._renew())

    async def _renew(self) -> None:
        store, entry, lease_seconds = self._admission.store, self._entry, self._admission.lease_seconds
        while True:
            try:
                await store.renew(entry.token_hash, entry.owner, lease_seconds)
            except StoreUnavailable as error:
                log.warning("a lease was not renewed: %s", error)
            await asyncio.sleep(self._pause_seconds)

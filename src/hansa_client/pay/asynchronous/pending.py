"""Interrupted payments: their outcome, and their end."""

import time
from collections.abc import Sequence

from hansa_client import AsyncRegistry
from hansa_client.errors import HansaError
from hansa_client.pay.errors import PaymentUnresolved
from hansa_client.pay.journal import Entry, Journal, Progress
from hansa_client.pay.options import RESERVED, token_kind
from hansa_client.pay.primitives import async_result
from hansa_client.pay.wallet import WALLET

from .ending import AsyncEnding


class AsyncPendingPayments:
    """The open payments of the registry's agent that no running program works on, for the command line and programs."""

    def __init__(self, registry: AsyncRegistry, journal: Journal) -> None:
        self._registry = registry
        self._journal = journal
        self._ending = AsyncEnding(registry, journal)

    async def list(self) -> Sequence[Entry]:
        """The interrupted payments, after asking the registry which of them have ended.

        One whose token's time is over is in this list only if the registry gives no final status for it; `detail` says why.
        """
        for entry in await self._interrupted():
            if entry.capture_by == WALLET:
                await self._ending.inspect(entry)
            elif entry.progress is Progress.DELIVERED:
                await self._settled(entry, success=True)
            elif entry.progress is Progress.UNDELIVERED:
                await self._settled(entry, success=False)
            else:
                await self._ending.inspect(entry)
        return await self._interrupted()

    async def settle(self, payment_id: str) -> Entry:
        """Pay: the call was answered. Raises: KeyError, PaymentUnresolved."""
        return await self._resolved(payment_id, success=True)

    async def release(self, payment_id: str) -> Entry:
        """Do not pay: the call was not answered. Ends a payment also if the registry has no such token, once its time is over.

        Raises: KeyError, PaymentUnresolved.
        """
        return await self._resolved(payment_id, success=False)

    async def _resolved(self, payment_id: str, *, success: bool) -> Entry:
        entry = await async_result(self._journal.entry(payment_id))
        if entry is None or not self._is_own(entry):
            raise KeyError(payment_id)
        if entry.is_open:
            await self._settled(entry, success=success, is_given_up=not success)
        resolved = await async_result(self._journal.entry(payment_id))
        assert resolved
        if resolved.is_open:
            is_over = resolved.expires_at <= time.time()
            reason = resolved.detail if is_over else None
            raise PaymentUnresolved(reason or "The registry does not say yet what becomes of it.", payment_id)
        return resolved

    async def _settled(self, entry: Entry, *, success: bool, is_given_up: bool = False) -> None:
        """The token is returned again for the key of the entry; a payment that a wallet signed ends by itself."""
        if entry.capture_by == WALLET:
            await self._ending.inspect(entry)
            return
        if entry.expires_at <= time.time():
            await self._ending.inspect(entry, is_given_up=is_given_up)
            return
        try:
            token = await self._registry.payments.authorize(
                entry.payee,
                entry.amount,
                ttl_seconds=entry.ttl_seconds,
                key=entry.payment_id,
                **token_kind(entry.capture_by),
            )
        except HansaError as error:
            await self._ending.leave_open(entry, str(error))
            return
        if success and entry.capture_by in {"caller", RESERVED}:
            await self._ending.settle(entry, token)
        elif not success:
            await self._ending.free(entry, token, "released on request")
        else:
            await self._ending.inspect(entry)

    async def _interrupted(self) -> Sequence[Entry]:
        entries = await async_result(self._journal.open_entries())
        return [entry for entry in entries if entry.is_interrupted and self._is_own(entry)]

    def _is_own(self, entry: Entry) -> bool:
        """Return whether this client may end the entry.

        For the key of an entry another agent would be given a token of its own; anyone can look up a payment that a wallet signed.
        """
        is_payer = entry.capture_by == WALLET or entry.payer == self._registry.agent_client_id
        return is_payer and entry.registry == self._registry.url

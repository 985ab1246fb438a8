"""Sends calls over HTTP and repeats those that may be repeated."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import httpx2

from hansa_client.calls import REDIRECTED, REFUSED, Answer, Call, read_answer, read_redirection, read_refusal
from hansa_client.errors import (
    AnswerInvalid,
    Forbidden,
    HansaError,
    KeyInProgress,
    OutcomeUnknown,
    Refusal,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from hansa_client.primitives import async_sleep
from hansa_client.retries import OF_THE_SERVER, UNSENT, RetryPolicy, may_repeat
from hansa_client.sending import AsyncSender

from .session import AsyncSession

T = TypeVar("T")


class AsyncTransport:
    """One connection pool to one registry. It follows no redirects."""

    def __init__(self, sender: AsyncSender, retries: RetryPolicy, *, timeout_seconds: float) -> None:
        self._sender = sender
        self._timeout_seconds = timeout_seconds
        self._retries = retries

    async def answer(self, call: Call, shape: type[T], session: AsyncSession | None = None) -> T:
        """The typed answer.

        Raises: Refusal, Unreachable, OutcomeUnknown, AnswerInvalid.
        """
        return read_success(call, await self.response(call, session), shape)

    async def response(self, call: Call, session: AsyncSession | None = None) -> Answer:
        """The answer of a success. Raises: Refusal, Unreachable, OutcomeUnknown, AnswerInvalid."""
        failed_attempts = 0
        may_have_happened = False
        has_renewed = False
        while True:
            with _before_sending(call, may_have_happened=may_have_happened):
                token = await session.token() if session is not None else None
            try:
                answer = await self._sent(call, token)
            except httpx2.TransportError as error:
                was_sent = not isinstance(error, UNSENT)
                may_have_happened = may_have_happened or was_sent
                failed_attempts += 1
                pause = self._retries.pause(failed_attempts)
                if pause is None or (was_sent and not call.is_repeatable):
                    raise _no_answer(call, error, may_have_happened=may_have_happened) from error
                await async_sleep(pause)
                continue
            if answer.status < REFUSED:
                return answer
            refusal = read_refusal(answer)
            if (
                isinstance(refusal, Unauthorized)
                and session is not None
                and token is not None
                and not has_renewed
            ):
                # The token ended earlier than expected: the registry did nothing, a new one decides.
                has_renewed = True
                with _before_sending(call, may_have_happened=may_have_happened):
                    await session.renew(token)
                continue
            failed_attempts += 1
            may_have_happened = may_have_happened or refusal.status >= OF_THE_SERVER
            is_final = not may_repeat(refusal, is_repeatable=call.is_repeatable)
            pause = None if is_final else self._retries.pause(failed_attempts, refusal.retry_after_seconds)
            if pause is None:
                raise _final(call, refusal, may_have_happened=may_have_happened) from None
            await async_sleep(pause)

    async def _sent(self, call: Call, token: str | None) -> Answer:
        """Raises: httpx2.TransportError, AnswerInvalid, OutcomeUnknown."""
        try:
            answer = await self._sender.send(call, token, self._timeout_seconds + call.extra_seconds)
        except httpx2.DecodingError as error:
            unreadable = AnswerInvalid(
                f"{call.method} {call.path} was answered in a broken encoding: {error}"
            )
            raise _unreadable(call, unreadable) from error
        if REDIRECTED <= answer.status < REFUSED:
            raise read_redirection(answer, call)
        return answer


def _final(call: Call, refusal: Refusal, *, may_have_happened: bool) -> Refusal | OutcomeUnknown:
    """Return the error for the caller: only a refusal that decides says that an attempt before it had no effect."""
    # Whether the caller may act, and how often, is judged before the registry looks for the answer of an earlier attempt.
    is_decided = refusal.status < OF_THE_SERVER and not isinstance(
        refusal, KeyInProgress | TooManyRequests | Unauthorized | Forbidden
    )
    if is_decided or not may_have_happened or call.is_reading:
        return refusal
    return OutcomeUnknown(
        f"The request may have taken effect. {call.method} {call.path}: {refusal}", call.key
    )


@contextmanager
def _before_sending(call: Call, *, may_have_happened: bool) -> Iterator[None]:
    """Turn an error before sending, such as a failed login, into OutcomeUnknown where an earlier attempt may have had an effect."""
    try:
        yield
    except HansaError as error:
        if not may_have_happened or call.is_reading:
            raise
        sentence = f"The request may have taken effect. {call.method} {call.path}: {error}"
        raise OutcomeUnknown(sentence, call.key) from error


def read_success(call: Call, answer: Answer, shape: type[T]) -> T:
    """The body of a success of this call. Raises: AnswerInvalid, OutcomeUnknown."""
    try:
        return read_answer(answer.content, shape, call)
    except AnswerInvalid as error:
        raise _unreadable(call, error) from error


def _unreadable(call: Call, error: AnswerInvalid) -> AnswerInvalid | OutcomeUnknown:
    """Return the error of a success that cannot be read, as a proxy may send one: it does not show the outcome at the registry."""
    if call.is_reading:
        return error
    return OutcomeUnknown(f"The request may have taken effect. {error}", call.key)


def _no_answer(call: Call, error: Exception, *, may_have_happened: bool) -> Unreachable | OutcomeUnknown:
    reason = f"{call.method} {call.path}: {type(error).__name__}: {error}".rstrip(": ")
    if may_have_happened and not call.is_reading:
        return OutcomeUnknown(f"No answer, and the request may have taken effect. {reason}", call.key)
    return Unreachable(f"The registry does not answer. {reason}")

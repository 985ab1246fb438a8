"""Fourteen bugs that one could write into the protocol; the simulation has to find each."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from hansa.rooms.transfers.crossing import pair_chain, receiver, sender
from hansa.rooms.transfers.crossing.messages import Message, MessageType
from hansa.rooms.transfers.crossing.states import (
    NOTHING,
    Money,
    MoneyKind,
    Received,
    ReceivedState,
    Sent,
    SentState,
    Step,
)

Plant = Callable[[pytest.MonkeyPatch], None]


def abort_after_commit(patch: pytest.MonkeyPatch) -> None:
    """The deadline ends committed transfers as well."""
    right = sender.on_time

    def on_time(sent: Sent, sender_inputs: sender.SenderInputs, now: float) -> Step:
        if sent.state is SentState.COMMITTED and sent.receipt is None:
            return right(replace(sent, state=SentState.RESERVED), sender_inputs, now)
        return right(sent, sender_inputs, now)

    patch.setattr(sender, "on_time", on_time)


def commit_after_abort(patch: pytest.MonkeyPatch) -> None:
    """A late `prepared` commits what was aborted."""
    right = sender.on_prepared

    def on_prepared(
        sent: Sent | None, message: Message, sender_inputs: sender.SenderInputs, now: float
    ) -> Step:
        if sent is not None and sent.state is SentState.ABORTED:
            sent = replace(sent, state=SentState.RESERVED, deadline=now + 1)
        return right(sent, message, sender_inputs, now)

    patch.setattr(sender, "on_prepared", on_prepared)


def credit_each_commit(patch: pytest.MonkeyPatch) -> None:
    """A repeated COMMIT credits again."""
    right = receiver.on_commit

    def on_commit(received: Received | None, message: Message, terms: receiver.Terms) -> Step:
        if received is not None and received.state is ReceivedState.COMMITTED:
            return replace(right(received, message, terms), money=_moved(received, MoneyKind.REPLAY_IN))
        return right(received, message, terms)

    patch.setattr(receiver, "on_commit", on_commit)


def receiver_aborts_by_time(patch: pytest.MonkeyPatch) -> None:
    """A question that says RESERVED ends the promise at the receiver."""
    right = receiver.on_prepare

    def on_prepare(received: Received | None, message: Message, terms: receiver.Terms) -> Step:
        if received is not None and received.state is ReceivedState.PREPARED and message.is_of(received.body):
            aborted = replace(received, state=ReceivedState.ABORTED)
            return Step(received=aborted, money=_moved(received, MoneyKind.ABORT_IN))
        return right(received, message, terms)

    patch.setattr(receiver, "on_prepare", on_prepare)


def refund_twice(patch: pytest.MonkeyPatch) -> None:
    """A repeated refusal gives the units back again."""
    right = sender.on_refused

    def on_refused(sent: Sent | None, message: Message, sender_inputs: sender.SenderInputs) -> Step:
        if sent is not None and sent.state is SentState.ABORTED:
            return Step(sent=sent, money=(Money(MoneyKind.ABORT_OUT, sent.body),))
        return right(sent, message, sender_inputs)

    patch.setattr(sender, "on_refused", on_refused)


def credit_more_than_promised(patch: pytest.MonkeyPatch) -> None:
    """The fee is credited to the payee too."""
    _with_money(patch, lambda money: replace(money, net=money.net + money.fee))


def decision_without_units(patch: pytest.MonkeyPatch) -> None:
    """ABORT is recorded in a commit of its own, before the units move."""
    right = sender.on_time

    def on_time(sent: Sent, sender_inputs: sender.SenderInputs, now: float) -> Step:
        return replace(right(sent, sender_inputs, now), money=())

    patch.setattr(sender, "on_time", on_time)


def no_limit(patch: pytest.MonkeyPatch) -> None:
    """The limit of a peer is not looked at."""
    for name in ("on_prepare", "on_commit"):
        _with_terms(patch, name, headroom=10**12)


def commit_without_promise(patch: pytest.MonkeyPatch) -> None:
    """A COMMIT of what is unknown counts without this registry's own signature."""
    patch.setattr(
        receiver, "states", lambda message, kind, body: kind is MessageType.PREPARED or message is not None
    )


def credit_what_the_commit_says(patch: pytest.MonkeyPatch) -> None:
    """Net and fee are taken from the COMMIT instead of the promise."""
    right = receiver.on_commit

    def on_commit(received: Received | None, message: Message, terms: receiver.Terms) -> Step:
        if received is not None and received.state is ReceivedState.PREPARED and message.net is not None:
            received = replace(received, net=message.net, fee=message.fee or 0)
        return right(received, message, terms)

    patch.setattr(receiver, "on_commit", on_commit)


def nothing_is_sent_again(patch: pytest.MonkeyPatch) -> None:
    """After an epoch began, what had been confirmed before stays confirmed."""
    right = pair_chain.observe

    def observe(*known: Any) -> pair_chain.Observed:
        return replace(right(*known), resend=False)

    patch.setattr(pair_chain, "observe", observe)


def old_receipts_count(patch: pytest.MonkeyPatch) -> None:
    """A receipt from before a restore confirms."""
    patch.setattr(pair_chain, "is_outdated", lambda pair, message: False)


def rewind_unseen(patch: pytest.MonkeyPatch) -> None:
    """Positions are not compared."""
    patch.setattr(
        pair_chain,
        "observe",
        lambda pair, message, recorded, nonce: pair_chain.Observed(replace(pair, nonce=None)),
    )


def own_commit_forgotten(patch: pytest.MonkeyPatch) -> None:
    """An ABORT stays although the receiver shows this registry's own COMMIT."""
    right = sender.on_receipt

    def on_receipt(sent: Sent | None, message: Message, sender_inputs: sender.SenderInputs) -> Step:
        if sent is None or (sent.state is SentState.ABORTED and message.code == "COMMITTED"):
            return NOTHING
        return right(sent, message, sender_inputs)

    patch.setattr(sender, "on_receipt", on_receipt)


def _moved(received: Received, kind: MoneyKind) -> tuple[Money, ...]:
    return (Money(kind, received.body, received.net, received.fee),)


def _with_money(patch: pytest.MonkeyPatch, change: Callable[[Money], Money]) -> None:
    right = receiver.on_commit

    def on_commit(received: Received | None, message: Message, terms: receiver.Terms) -> Step:
        step = right(received, message, terms)
        return replace(step, money=tuple(change(money) for money in step.money))

    patch.setattr(receiver, "on_commit", on_commit)


def _with_terms(patch: pytest.MonkeyPatch, name: str, **changed: Any) -> None:
    right = getattr(receiver, name)

    def judged(received: Received | None, message: Message, terms: receiver.Terms) -> Step:
        step: Step = right(received, message, replace(terms, **changed))
        return step

    patch.setattr(receiver, name, judged)


PLANTS: tuple[Plant, ...] = (
    abort_after_commit,
    commit_after_abort,
    credit_each_commit,
    receiver_aborts_by_time,
    refund_twice,
    credit_more_than_promised,
    decision_without_units,
    no_limit,
    commit_without_promise,
    credit_what_the_commit_says,
    nothing_is_sent_again,
    old_receipts_count,
    rewind_unseen,
    own_commit_forgotten,
)

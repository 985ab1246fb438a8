"""The orders of the ledger that a step of the protocol results in."""

from uuid import UUID

from hansa.foundation.values.money import ZERO, Minor
from hansa.rooms import ledger

from .corridor import Corridor
from .messages import Body
from .states import Money, MoneyKind

LedgerStep = (
    ledger.ReserveOut
    | ledger.CommitOut
    | ledger.AbortOut
    | ledger.ReserveIn
    | ledger.CommitIn
    | ledger.AbortIn
)


def orders_of(corridor: Corridor, money: Money) -> list[ledger.Order]:
    """What the ledger carries out for this money, in order."""
    return [step.order(corridor.book) for step in _steps(corridor, money)]


def reserve_out(corridor: Corridor, body: Body, payer: str | None = None) -> ledger.ReserveOut:
    """The units of the payer, or of another account that pays instead, on their way."""
    return ledger.ReserveOut(
        corridor.frame,
        UUID(body.transfer_id),
        payer or body.sender_did,
        Minor(body.amount),
        body.receiver_did,
        body.memo,
        is_swap=body.swap is not None,
    )


def reserve_in(corridor: Corridor, body: Body, fee: int, net: int) -> ledger.ReserveIn:
    """Room for what enters, within the limit of the peer. A swap is paid by its pool: no units enter."""
    if body.swap is not None:
        return ledger.ReserveIn(
            corridor.frame,
            UUID(body.transfer_id),
            body.receiver_did,
            Minor(net),
            ZERO,
            None,
            body.sender_did,
            is_swap=True,
        )
    limit = corridor.peer.net_in_limit
    return ledger.ReserveIn(
        corridor.frame,
        UUID(body.transfer_id),
        body.receiver_did,
        Minor(body.amount),
        Minor(fee),
        None if limit is None else Minor(limit),
        body.sender_did,
    )


def _steps(corridor: Corridor, money: Money) -> list[LedgerStep]:
    frame, transfer_id, body = corridor.frame, UUID(money.body.transfer_id), money.body
    is_swap = body.swap is not None
    entering = reserve_in(corridor, body, money.fee, money.net)
    commit_in = ledger.CommitIn(frame, transfer_id, body.memo, is_swap)
    commit_out = ledger.CommitOut(frame, transfer_id, is_swap)
    steps: dict[MoneyKind, list[LedgerStep]] = {
        MoneyKind.RESERVE_OUT: [reserve_out(corridor, body)],
        MoneyKind.COMMIT_OUT: [commit_out],
        MoneyKind.ABORT_OUT: [ledger.AbortOut(frame, transfer_id, is_swap)],
        MoneyKind.REPLAY_OUT: [reserve_out(corridor, body), commit_out],
        MoneyKind.SHORTFALL_OUT: [reserve_out(corridor, body, corridor.book.shortfall), commit_out],
        MoneyKind.RESERVE_IN: [entering],
        MoneyKind.COMMIT_IN: [commit_in],
        MoneyKind.ABORT_IN: [ledger.AbortIn(frame, transfer_id, is_swap)],
        MoneyKind.REPLAY_IN: [entering, commit_in],
    }
    return steps[money.kind]

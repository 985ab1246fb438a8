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
    """Return the orders for the ledger that carry out this money, in order."""
    return [step.order(corridor.book) for step in _steps(corridor, money)]


def reserve_out(
    corridor: Corridor, body: Body, payer: str | None = None, *, is_again: bool = False
) -> ledger.ReserveOut:
    """The units of the payer, or of another account that pays instead, in transit; `is_again`: also after an ABORT."""
    return ledger.ReserveOut(
        corridor.frame,
        UUID(body.transfer_id),
        payer or body.sender_did,
        Minor(body.amount),
        body.receiver_did,
        body.memo,
        is_swap=body.swap is not None,
        is_again=is_again,
    )


def reserve_in(
    corridor: Corridor, body: Body, fee: int, net: int, *, is_again: bool = False
) -> ledger.ReserveIn:
    """Return the order that reserves room for the incoming units, within the limit of the peer. A swap is paid by its pool: no units enter.

    `is_again`: also after an ABORT.
    """
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
            is_again=is_again,
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
        is_again=is_again,
    )


def abort_in(corridor: Corridor, body: Body) -> ledger.AbortIn:
    """Return the order that frees the room for units that will not enter."""
    return ledger.AbortIn(corridor.frame, UUID(body.transfer_id), body.swap is not None)


def _steps(corridor: Corridor, money: Money) -> list[LedgerStep]:
    frame, transfer_id, body = corridor.frame, UUID(money.body.transfer_id), money.body
    is_swap = body.swap is not None
    entering = reserve_in(corridor, body, money.fee, money.net)
    entering_again = reserve_in(corridor, body, money.fee, money.net, is_again=True)
    commit_in = ledger.CommitIn(frame, transfer_id, body.memo, is_swap)
    commit_out = ledger.CommitOut(frame, transfer_id, is_swap)
    steps: dict[MoneyKind, list[LedgerStep]] = {
        MoneyKind.RESERVE_OUT: [reserve_out(corridor, body)],
        MoneyKind.COMMIT_OUT: [commit_out],
        MoneyKind.ABORT_OUT: [ledger.AbortOut(frame, transfer_id, is_swap)],
        MoneyKind.REPLAY_OUT: [reserve_out(corridor, body, is_again=True), commit_out],
        MoneyKind.SHORTFALL_OUT: [
            reserve_out(corridor, body, corridor.book.shortfall, is_again=True),
            commit_out,
        ],
        MoneyKind.RESERVE_IN: [entering],
        MoneyKind.COMMIT_IN: [commit_in],
        MoneyKind.ABORT_IN: [abort_in(corridor, body)],
        MoneyKind.REPLAY_IN: [entering_again, commit_in],
    }
    return steps[money.kind]

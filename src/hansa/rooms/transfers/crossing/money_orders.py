"""The orders of the ledger that a step of the protocol results in."""

from uuid import UUID

from hansa.foundation.values.money import Minor
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


def reserve_out(corridor: Corridor, body: Body) -> ledger.ReserveOut:
    """The units of the payer, on their way."""
    return ledger.ReserveOut(
        corridor.frame,
        UUID(body.transfer_id),
        body.sender_did,
        Minor(body.amount),
        body.receiver_did,
        body.memo,
    )


def reserve_in(corridor: Corridor, body: Body, fee: int) -> ledger.ReserveIn:
    """Room for what enters, within the limit of the peer."""
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
    commit_in = ledger.CommitIn(frame, transfer_id, body.memo)
    steps: dict[MoneyKind, list[LedgerStep]] = {
        MoneyKind.RESERVE_OUT: [reserve_out(corridor, body)],
        MoneyKind.COMMIT_OUT: [ledger.CommitOut(frame, transfer_id)],
        MoneyKind.ABORT_OUT: [ledger.AbortOut(frame, transfer_id)],
        MoneyKind.REPLAY_OUT: [reserve_out(corridor, body), ledger.CommitOut(frame, transfer_id)],
        MoneyKind.RESERVE_IN: [reserve_in(corridor, body, money.fee)],
        MoneyKind.COMMIT_IN: [commit_in],
        MoneyKind.ABORT_IN: [ledger.AbortIn(frame, transfer_id)],
        MoneyKind.REPLAY_IN: [reserve_in(corridor, body, money.fee), commit_in],
    }
    return steps[money.kind]

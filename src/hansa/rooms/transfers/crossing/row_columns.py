"""Columns that the rows of both directions have in common: the body of a transfer, and the pause between attempts."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import asyncpg

from .messages import Body, Swap

FIRST_PAUSE_SECONDS = 2

LONGEST_PAUSE_SECONDS = 300

PAUSE = f"make_interval(secs => least({FIRST_PAUSE_SECONDS} * 2 ^ least(tries, 16), {LONGEST_PAUSE_SECONDS}))"


def body_of(row: asyncpg.Record) -> Body:
    return Body(
        str(row["transfer_id"]),
        row["sender_did"],
        row["receiver_did"],
        row["amount"],
        row["currency"],
        row["memo"],
        _swap(row),
        row["purpose"],
    )


def _swap(row: asyncpg.Record) -> Swap | None:
    if row["currency_received"] is None:
        return None
    quote_id = row["quote_id"]
    return Swap(
        row["currency_received"],
        row["min_amount_out"],
        row["amount_out"],
        None if quote_id is None else str(quote_id),
    )


def swap_columns(swap: Swap | None) -> dict[str, Any]:
    """The members of a new row that a swap has."""
    names = ("currency_received", "min_amount_out", "amount_out", "quote_id")
    return dict(zip(names, swap_values(swap), strict=True))


def swap_values(swap: Swap | None) -> tuple[Any, ...]:
    if swap is None:
        return (None, None, None, None)
    quote_id = None if swap.quote_id is None else UUID(swap.quote_id)
    return (swap.currency_received, swap.min_amount_out, swap.amount_out, quote_id)


def body_columns(body: Body) -> tuple[Any, ...]:
    return (
        UUID(body.transfer_id),
        body.sender_did,
        body.receiver_did,
        body.amount,
        body.currency,
        body.memo,
    )


def columns(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    """The rows as `unnest` takes them."""
    return [list(column) for column in zip(*rows, strict=True)]

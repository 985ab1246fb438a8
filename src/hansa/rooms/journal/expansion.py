"""Events as they are read: one row stands for the events of a transfer (`sql/expansion.sql`).

Every query for events goes through here. It selects rows, as `e`, and reads the events that they stand for. A row has the
sequence number of its first event; the others have those that follow.
"""

from collections.abc import Collection, Iterable

SPAN = "(1 + (coalesce(e.admitted >> 1, 0) & 1) + (coalesce(e.admitted >> 2, 0) & 1))"
"""How many events a row stands for."""

SPAN_MAX = 3

_BIT = {"LedgerBalanceChanged": 1, "TokensTransferred": 2, "TransactionFeeCollected": 4}


def events_of(rows: str) -> str:
    """A relation of the events of these rows; `rows` is a query for one column, the whole row `e`.

    A query with a limit selects one row more than it takes events: of a row in which a cursor stands, none may be left.
    """
    return f"(SELECT x.* FROM ({rows}) stored CROSS JOIN LATERAL journal_expand(stored.e) x) event"  # noqa: S608


def own_events_of(rows: str) -> str:
    """Return a relation of the events of `rows`, which selects `e.*` of rare types: each is one event and is not expanded as in `events_of`."""
    return f"({rows}) event"


def rows_after(xid: str, seq: str) -> str:
    """The condition on rows of which an event stands behind this place; the events before it are to be trimmed."""
    return (
        f"(e.xid, e.seq) > ({xid}::bigint, {seq}::bigint - {SPAN_MAX - 1})"
        f" AND (e.xid > {xid}::bigint OR e.seq + {SPAN} - 1 > {seq}::bigint)"
    )


def rows_with_key(key: str) -> str:
    """A query for the row whose first event has this key, an SQL expression. The row of a transfer is found by its transaction."""
    return f"""
SELECT e FROM journal_event e WHERE e.idempotency_key = {key}
UNION ALL
SELECT e FROM journal_event e JOIN journal_transfer_terms t ON t.id = e.terms
WHERE e.tx_id = left(substring({key} FROM '-([0-9]+)$'), 18)::bigint AND e.idempotency_key IS NULL
  AND {key} = concat('ledger-tx-', t.frame, '-', e.tx_id)"""  # noqa: S608


def rows_of_type(kind: str) -> str:
    """The condition on rows of which an event may be of this type, an SQL expression."""
    bits = " ".join(f"WHEN '{name}' THEN {bit}" for name, bit in _BIT.items())
    return f"(e.event_type = {kind} OR e.admitted & CASE {kind} {bits} ELSE 0 END <> 0)"


def rows_with_others(row: str, types: Collection[str]) -> str:
    """The condition on a row, an SQL expression, that it stands for an event of another type than these."""
    others = sum(bit for name, bit in _BIT.items() if name not in types)
    return f"CASE WHEN {row}.data IS NULL THEN {row}.admitted & {others} <> 0 ELSE {row}.event_type <> ALL({array_of(types)}) END"


def array_of(types: Iterable[str]) -> str:
    """Names of event types as an SQL array, of which the planner knows everything."""
    return "'{" + ",".join(types) + "}'::text[]"


def counts_by_type(condition: str) -> str:
    """A query: how many events of each type the rows of this condition stand for."""
    types = ", ".join(f"('{name}', {bit})" for name, bit in _BIT.items() if bit > 1)
    return f"""
SELECT t.event_type, sum(g.rows)::bigint AS events FROM (
  SELECT e.event_type, e.admitted, count(*) AS rows FROM journal_event e WHERE {condition} GROUP BY 1, 2
) g CROSS JOIN LATERAL (VALUES (g.event_type, 1), {types}) AS t (event_type, bit)
WHERE coalesce(g.admitted, 1) & t.bit <> 0 GROUP BY t.event_type"""  # noqa: S608

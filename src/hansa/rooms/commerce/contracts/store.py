"""Every SQL statement of contracts.

An act locks the row of its contract first, then the rows of agents, holds and accounts. The clock is read by the statement
after the lock, so that a deadline is judged by the moment in which the act has the contract.
"""

import json
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.paging import read_page, with_total
from hansa.foundation.values.money import Minor

from .contract import Contract, Ending, Milestone, Status
from .records import ContractFilter, HistoryLine, NewContract
from .term_rules import expiry_of

_NAMES = [name for name in Contract.__struct_fields__ if name not in {"now", "milestones"}]
_COLUMNS = ", ".join(f"c.{name}" for name in _NAMES)
_TAKEN = ", ".join(f"(t.contract).{name}" for name in _NAMES)

_TAKE = f"SELECT {_TAKEN}, t.now, t.milestones FROM commerce_take_contract($1) t"  # noqa: S608

_CONTRACTS = f"""
SELECT {_COLUMNS}, clock_timestamp() AS now, (
  SELECT json_agg(json_build_object('index', m.index, 'title', m.title, 'amount', m.amount, 'due', m.due,
    'state', m.state, 'payment_tx_id', m.payment_tx_id, 'payment_transfer', m.payment_transfer,
    'submitted_at', m.submitted_at) ORDER BY m.index)
  FROM commerce_contract_milestone m WHERE m.contract_id = c.id) AS milestones
FROM commerce_contract c
"""  # noqa: S608

_VERSIONED = _CONTRACTS.replace(" AS now,", " AS now, c.xmin::text AS row_version,") + "WHERE c.id = ANY($1)"

# The proposal and the first line of its history.
_INSERT = """
WITH inserted AS (INSERT INTO commerce_contract (version, title, contract_type, amount, currency, contractor_did, provider_did, terms,
  acceptance_criteria, submit_by, review_by, auto_approve, funded, status, expires_at, due_at, created_at, is_across,
  provider_registry, provider_bond, provider_jobs, grant_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 'PROPOSED', $14, $14, $15, $16::text IS NOT NULL, $16, $17, $18, $19)
RETURNING {columns}), noted AS (
  INSERT INTO commerce_contract_history (contract_id, act, actor_did, at)
  SELECT id, $20, contractor_did, created_at FROM inserted)
SELECT * FROM inserted
""".format(columns=", ".join(_NAMES))  # noqa: S608

_INSERT_MILESTONES = """
INSERT INTO commerce_contract_milestone (contract_id, index, title, amount, due)
SELECT $1, m.index, m.title, m.amount, m.due
FROM unnest($2::smallint[], $3::text[], $4::bigint[], $5::timestamptz[]) AS m (index, title, amount, due)
"""

_CHANGING = (
    "provider_did",
    "is_across",
    "provider_registry",
    "submit_by",
    "review_by",
    "status",
    "ended_because",
    "expires_at",
    "turn_at",
    "due_at",
    "stops",
    "stopped_at",
    "amount_paid",
    "fee_paid",
    "payment_tx_id",
    "payment_transfer",
    "crossing",
    "hold_id",
    "hold_release_at",
    "dispute_id",
    "submissions",
    "accepted_at",
    "submitted_at",
    "completed_at",
    "ended_at",
)
_SETS = ", ".join(f"{name} = ${place}" for place, name in enumerate(_CHANGING, start=3))

_SAVE = f"UPDATE commerce_contract SET {_SETS} WHERE id = $1 AND status = $2 RETURNING 1"  # noqa: S608

_SAVE_MILESTONES = """
UPDATE commerce_contract_milestone o SET due = m.due, state = m.state, payment_tx_id = m.payment_tx_id,
  submitted_at = m.submitted_at, payment_transfer = m.payment_transfer
FROM unnest($2::smallint[], $3::timestamptz[], $4::text[], $5::bigint[], $6::timestamptz[], $7::uuid[])
  AS m (index, due, state, payment_tx_id, submitted_at, payment_transfer)
WHERE o.contract_id = $1 AND o.index = m.index
"""

_LINE = "contract_id, act, actor_did, milestone, note, deliverable, at"
_OF_LINE = ", ".join(f"${place}" for place in range(len(_CHANGING) + 3, len(_CHANGING) + 9))

# The whole history, the new line last; nothing when the contract was not in the state that it is moved from.
_SAVE_AND_NOTE = f"""
WITH saved AS ({_SAVE}), noted AS (
  INSERT INTO commerce_contract_history (contract_id, act, actor_did, milestone, note, deliverable, at)
  SELECT $1, {_OF_LINE} FROM saved RETURNING {_LINE}, id
)
SELECT {_LINE} FROM (
  SELECT {_LINE}, id FROM commerce_contract_history WHERE contract_id = $1 AND EXISTS (SELECT FROM saved)
  UNION ALL SELECT * FROM noted
) lines ORDER BY id
"""  # noqa: S608

_HISTORY = f"""
SELECT {_LINE} FROM commerce_contract_history WHERE contract_id = ANY($1) ORDER BY contract_id, id
"""  # noqa: S608

# What the reader may see: everything, or as a party, or what is public.
WANTED = """
WHERE ($1::text IS NULL OR c.contractor_did = $1 OR c.provider_did = $1)
  AND ($2::text IS NULL OR c.contractor_did = $2 OR c.provider_did = $2 OR c.contract_type = 'attestation'
    OR c.status = 'PROPOSED' AND c.provider_did IS NULL)
  AND ($3::text IS NULL OR CASE $3 WHEN 'contractor' THEN c.contractor_did ELSE c.provider_did END = $1)
  AND ($4::text IS NULL OR c.status = $4)
  AND ($5::text IS NULL OR c.contractor_did = $5 AND $1 IS DISTINCT FROM $5
    OR c.provider_did = $5 AND $1 IS DISTINCT FROM $5)
  AND (NOT $6::boolean OR c.status = 'PROPOSED' AND c.provider_did IS NULL)
"""

# Copies of contracts that other registries keep; of the bounds of a list those that a copy can have. Their reader is the provider.
_COUNT_COPIES = """
SELECT count(*) FROM commerce_contract_copy
WHERE provider_did = $1 AND document IS NOT NULL AND ($4::text IS NULL OR status = $4) AND ($5::text IS NULL OR contractor_did = $5)
"""

_LIST = with_total(
    f"{_CONTRACTS} {WANTED} ORDER BY c.id DESC LIMIT $7 OFFSET $8",
    f"SELECT ARRAY[(SELECT count(*) FROM commerce_contract c {WANTED}), ({_COUNT_COPIES})]",  # noqa: S608
)

_OPEN_PROPOSALS = """
SELECT asked.did, clock_timestamp() AS now, (
  SELECT count(*) FROM commerce_contract WHERE contractor_did = asked.did AND status = 'PROPOSED') AS open
FROM unnest($1::text[]) AS asked (did)
"""

_OF_PARTY = """
SELECT id FROM commerce_contract WHERE contractor_did = $1 AND status = ANY($2)
UNION SELECT id FROM commerce_contract WHERE provider_did = $1 AND status = ANY($2) ORDER BY id
"""

_ATTESTATIONS_OF = f"""
{_CONTRACTS} WHERE c.contract_type = 'attestation' AND (c.contractor_did = $1 OR c.provider_did = $1)
ORDER BY c.id DESC LIMIT $2
"""

_COUNT_BINDING = """
SELECT did, count(*) AS count FROM unnest($1::text[]) did JOIN commerce_contract
  ON contractor_did = did AND (status IN ('PROPOSED', 'ACCEPTED', 'SUBMITTED') OR hold_release_at IS NOT NULL
    OR status = 'DISPUTED' AND ended_at IS NULL)
  OR provider_did = did AND (status IN ('ACCEPTED', 'SUBMITTED') OR hold_release_at IS NOT NULL
    OR status = 'DISPUTED' AND ended_at IS NULL)
GROUP BY did
"""

_OPEN_ACCEPTED = f"""
{_CONTRACTS} WHERE c.provider_did = $1 AND c.status IN ('ACCEPTED', 'SUBMITTED', 'DISPUTED')
  AND (c.provider_bond IS NOT NULL OR c.provider_jobs IS NOT NULL)
"""

_COUNT_UNDER_WAY = """
SELECT count(*) FROM commerce_contract
WHERE (contractor_did = $1 OR provider_did = $1)
  AND (status IN ('ACCEPTED', 'SUBMITTED') OR hold_release_at IS NOT NULL)
"""


async def open_proposals_of(tx: Tx, dids: Collection[str]) -> dict[str, tuple[int, datetime]]:
    """How many proposals of each of these agents are open, and the clock."""
    return {row["did"]: (row["open"], row["now"]) for row in await tx.fetch(_OPEN_PROPOSALS, list(dids))}


async def insert(tx: Tx, new: NewContract) -> tuple[Contract, HistoryLine]:
    """A new proposal, and the line of its history."""
    row, terms = await tx.fetchrow(_INSERT, *_inserted(new)), new.terms
    assert row is not None
    if terms.milestones:
        await tx.execute(
            _INSERT_MILESTONES,
            row["id"],
            [one.index for one in terms.milestones],
            [one.title for one in terms.milestones],
            [one.amount for one in terms.milestones],
            [one.due for one in terms.milestones],
        )
    return _as_inserted(row, new)


async def insert_all(tx: Tx, new: Sequence[NewContract]) -> list[tuple[Contract, HistoryLine]]:
    """Do the same as `insert`, for proposals without milestones."""
    rows = await tx.fetchmany(_INSERT, [_inserted(one) for one in new])
    return [_as_inserted(row, one) for row, one in zip(rows, new, strict=True)]


def _inserted(new: NewContract) -> tuple[Any, ...]:
    terms = new.terms
    return (
        terms.version,
        terms.title,
        terms.contract_type,
        terms.amount,
        new.currency,
        terms.contractor_did,
        terms.provider_did,
        json.dumps(terms.terms),
        json.dumps(terms.acceptance_criteria),
        terms.submit_by,
        terms.review_by,
        terms.auto_approve,
        terms.funded,
        expiry_of(terms, new.created_at),
        new.created_at,
        new.provider_registry,
        terms.provider_bond,
        terms.provider_jobs,
        new.grant_id,
        new.first_act,
    )


def _as_inserted(row: asyncpg.Record, new: NewContract) -> tuple[Contract, HistoryLine]:
    contract = _contract({**row, "now": new.created_at}, new.terms.milestones)
    line = HistoryLine(contract.id, new.first_act, contract.contractor_did, None, None, None, new.created_at)
    return contract, line


async def lock(tx: Tx, contract_id: int) -> Contract | None:
    """One contract, as it is once no other act has it."""
    return _found(await tx.fetchrow(_TAKE, contract_id))


async def lock_all(tx: Tx, contract_ids: Collection[int]) -> dict[int, Contract]:
    """Lock contracts as `lock` does, one after the other in the order of their ids; returns those that exist."""
    rows = await tx.fetchmany(_TAKE, [(contract_id,) for contract_id in sorted(contract_ids)])
    return {row["id"]: _read(dict(row)) for row in rows}


async def find(tx: Tx, contract_id: int) -> Contract | None:
    """One contract."""
    return _found(await tx.fetchrow(f"{_CONTRACTS} WHERE c.id = $1", contract_id))


async def find_versioned(tx: Tx, contract_ids: Sequence[int]) -> list[tuple[Contract, str]]:
    """Return the contracts with these ids that exist, each with a version that changes with every write of its row."""
    rows = [dict(row) for row in await tx.fetch(_VERSIONED, list(contract_ids))]
    versions = [row.pop("row_version") for row in rows]
    return [(_read(row), version) for row, version in zip(rows, versions, strict=True)]


async def find_all(tx: Tx, contract_ids: Sequence[int]) -> list[Contract]:
    """These contracts, as far as there are such."""
    rows = await tx.fetch(f"{_CONTRACTS} WHERE c.id = ANY($1)", list(contract_ids))
    return [one for row in rows if (one := _found(row))]


async def page(tx: Tx, filters: ContractFilter) -> tuple[list[Contract], int, int]:
    """A page of contracts, newest first, how many there are in all, and how many copies of the provider besides."""
    bounds = (*bounds_of(filters), filters.limit, filters.offset)
    rows, (total, copies) = await read_page(tx, _LIST, *bounds)
    return [one for row in rows if (one := _found(row))], total, copies


def bounds_of(filters: ContractFilter) -> tuple[Any, ...]:
    """The parameters of WANTED."""
    return (filters.of, filters.reader, filters.role, filters.status, filters.counterparty, filters.is_open)


async def of_party(tx: Tx, did: str, statuses: Collection[Status]) -> list[int]:
    """The contracts of an agent that are in one of these states, in order."""
    return [row["id"] for row in await tx.fetch(_OF_PARTY, did, [str(status) for status in statuses])]


async def attestations_of(tx: Tx, did: str, limit: int) -> list[Contract]:
    """The newest attestation contracts to which an agent is a party."""
    return [one for row in await tx.fetch(_ATTESTATIONS_OF, did, limit) if (one := _found(row))]


async def statuses_of(tx: Tx, contract_ids: Collection[int]) -> dict[int, Status]:
    """The status of each of these contracts."""
    rows = await tx.fetch("SELECT id, status FROM commerce_contract WHERE id = ANY($1)", list(contract_ids))
    return {row["id"]: Status(row["status"]) for row in rows}


async def count_binding(tx: Tx, dids: Sequence[str]) -> dict[str, int]:
    """How many contracts keep each of these agents from ending; an agent that none keeps is absent."""
    return {row["did"]: row["count"] for row in await tx.fetch(_COUNT_BINDING, dids)}


async def open_accepted(tx: Tx, did: str) -> list[Contract]:
    """The open, funded proposals that an agent has accepted and that are under way."""
    return [one for row in await tx.fetch(_OPEN_ACCEPTED, did) if (one := _found(row))]


async def count_open(tx: Tx, did: str) -> int:
    """How many contracts of an agent are under way, or hold units after their failure."""
    return int(await tx.fetchval(_COUNT_UNDER_WAY, did))


async def save(tx: Tx, before: Contract, after: Contract) -> bool:
    """Write the changed columns.

    Returns whether the contract was still in the state that it is moved from; else nothing is written.
    """
    if await tx.fetchval(_SAVE, before.id, before.status, *_changing(after)) is None:
        return False
    await _save_milestones(tx, before, after)
    return True


async def save_with_line(tx: Tx, before: Contract, after: Contract, line: HistoryLine) -> list[HistoryLine]:
    """Write the changed columns and the line of the history, in one statement.

    Returns the history with that line, oldest first; nothing, and nothing is written, when the contract was no longer in
    the state that it is moved from.
    """
    rows = await tx.fetch(_SAVE_AND_NOTE, *_saved(before, after, line))
    if rows:
        await _save_milestones(tx, before, after)
    return [_read_line(row) for row in rows]


async def save_all_with_lines(
    tx: Tx, moves: Sequence[tuple[Contract, Contract, HistoryLine]]
) -> dict[int, list[HistoryLine]]:
    """Do the same as `save_with_line`, for contracts without milestones, each of which is there once; returns the histories by contract."""
    histories: dict[int, list[HistoryLine]] = {}
    for row in await tx.fetchmany(_SAVE_AND_NOTE, [_saved(*one) for one in moves]):
        histories.setdefault(row["contract_id"], []).append(_read_line(row))
    return histories


def _saved(before: Contract, after: Contract, line: HistoryLine) -> tuple[Any, ...]:
    return (before.id, before.status, *_changing(after), *_noted(line))


def _changing(contract: Contract) -> list[Any]:
    return [getattr(contract, name) for name in _CHANGING]


async def _save_milestones(tx: Tx, before: Contract, after: Contract) -> None:
    known = {one.index: one for one in before.milestones}
    if changed := [one for one in after.milestones if known[one.index] != one]:
        await tx.execute(
            _SAVE_MILESTONES,
            before.id,
            [one.index for one in changed],
            [one.due for one in changed],
            [one.state for one in changed],
            [one.payment_tx_id for one in changed],
            [one.submitted_at for one in changed],
            [one.payment_transfer for one in changed],
        )


def _noted(line: HistoryLine) -> list[Any]:
    deliverable = None if line.deliverable is None else json.dumps(line.deliverable)
    return [line.act, line.actor_did, line.milestone, line.note, deliverable, line.at]


async def history(tx: Tx, contract_ids: Sequence[int]) -> dict[int, list[HistoryLine]]:
    """The histories of these contracts, oldest line first."""
    lines: dict[int, list[HistoryLine]] = {contract_id: [] for contract_id in contract_ids}
    for row in await tx.fetch(_HISTORY, list(contract_ids)):
        lines[row["contract_id"]].append(_read_line(row))
    return lines


def _read_line(row: asyncpg.Record) -> HistoryLine:
    deliverable = None if row["deliverable"] is None else json.loads(row["deliverable"])
    return HistoryLine(**{**dict(row), "deliverable": deliverable})


async def counts(tx: Tx, payer: str, payee: str) -> bool:
    """Return whether a job between the two counts toward their records."""
    does_count: bool = await tx.fetchval("SELECT counts FROM commerce_counted($1, $2)", payer, payee)
    return does_count


def _found(row: asyncpg.Record | dict[str, Any] | None) -> Contract | None:
    return None if row is None else _read(dict(row))


def _read(members: dict[str, Any]) -> Contract:
    stored = json.loads(members.pop("milestones") or "[]")
    return _contract(members, tuple(_milestone(**one) for one in stored))


def _contract(members: dict[str, Any], milestones: tuple[Milestone, ...]) -> Contract:
    ended_because = members.pop("ended_because")
    members |= {
        "status": Status(members["status"]),
        "ended_because": None if ended_because is None else Ending(ended_because),
        "stops": tuple(members["stops"]),
        "terms": json.loads(members["terms"]),
        "acceptance_criteria": json.loads(members["acceptance_criteria"]),
    }
    return Contract(**members, milestones=milestones)


def _milestone(
    *, due: str | None, submitted_at: str | None, payment_transfer: str | None, amount: int, **members: Any
) -> Milestone:
    return Milestone(
        **members,
        payment_transfer=UUID(payment_transfer) if payment_transfer else None,
        amount=Minor(amount),
        due=datetime.fromisoformat(due) if due else None,
        submitted_at=datetime.fromisoformat(submitted_at) if submitted_at else None,
    )

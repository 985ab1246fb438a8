"""The SQL of appointments. Every change holds the row of the organization; an appointment ends by one conditional UPDATE."""

from datetime import timedelta
from uuid import UUID, uuid4

import asyncpg

from hansa.foundation.plumbing.jobs import Question
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.organizations.records import Appointment

_COLUMNS = """
id, organization_id, developer_id, reason, administrator_id, status, created_at, effective_at, ended_at
"""

_INSERT = f"""
INSERT INTO organizations_appointment (id, organization_id, developer_id, reason, administrator_id, effective_at)
VALUES ($1, $2, $3, $4, $5, now() + $6) ON CONFLICT DO NOTHING RETURNING {_COLUMNS}
"""  # noqa: S608

_VETO = f"""
UPDATE organizations_appointment SET status = 'VETOED', ended_at = clock_timestamp(), vetoed_by = $2
WHERE organization_id = $1 AND status = 'PENDING' RETURNING {_COLUMNS}
"""  # noqa: S608

_END = """
UPDATE organizations_appointment SET status = $2, ended_at = clock_timestamp()
WHERE id = $1 AND status = 'PENDING' AND effective_at <= clock_timestamp() RETURNING true
"""

_DUE = "FROM organizations_appointment WHERE status = 'PENDING' AND effective_at <= clock_timestamp()"

HAS_DUE = Question(f"SELECT EXISTS (SELECT {_DUE})")
"""Condition of an appointment whose notice has ended."""


async def insert(
    tx: Tx,
    organization_id: UUID,
    developer_id: int,
    *,
    reason: str,
    administrator_id: int,
    notice: timedelta,
) -> Appointment | None:
    """Write an appointment; None where one of the organization is pending."""
    row = await tx.fetchrow(_INSERT, uuid4(), organization_id, developer_id, reason, administrator_id, notice)
    return _appointment(row)


async def pending_of(tx: Tx, organization_id: UUID) -> Appointment | None:
    """The pending appointment of an organization."""
    query = (
        f"SELECT {_COLUMNS} FROM organizations_appointment WHERE organization_id = $1 AND status = 'PENDING'"  # noqa: S608
    )
    return _appointment(await tx.fetchrow(query, organization_id))


async def veto(tx: Tx, organization_id: UUID, owner_id: int) -> Appointment | None:
    """End the pending appointment of a locked organization; None where there is none."""
    return _appointment(await tx.fetchrow(_VETO, organization_id, owner_id))


async def oldest_due(tx: Tx) -> Appointment | None:
    """The pending appointment whose notice ended first; takes no lock."""
    return _appointment(await tx.fetchrow(f"SELECT {_COLUMNS} {_DUE} ORDER BY effective_at, id LIMIT 1"))


async def end(tx: Tx, appointment_id: UUID, status: str) -> bool:
    """End a due appointment of a locked organization; False when it has ended."""
    return bool(await tx.fetchval(_END, appointment_id, status))


def _appointment(row: asyncpg.Record | None) -> Appointment | None:
    return None if row is None else Appointment(**row)

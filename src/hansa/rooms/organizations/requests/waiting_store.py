"""The SQL of requests that wait for a person: by the approvals that each demanded when it was made, and by those that it needs now."""

import json
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.page_facts import PageFact

from .store import CONCERNED

_WAITING = f"""
FROM organizations_request r JOIN organizations_organization o ON o.id = r.organization_id AND o.status = 'active'
  JOIN organizations_member m ON m.organization_id = r.organization_id AND m.role IS NOT NULL
WHERE m.developer_id = {{person}} AND r.status = 'PENDING' AND r.expires_at > clock_timestamp()
  AND r.initiator_id <> m.developer_id AND {CONCERNED} IS DISTINCT FROM m.developer_id
  AND NOT EXISTS (SELECT FROM organizations_approval a WHERE a.request_id = r.id AND a.developer_id = m.developer_id)
  AND CASE WHEN r.kind = 'owners' THEN m.role = 4 ELSE EXISTS (
    SELECT FROM jsonb_array_elements(r.demands) d WHERE CASE d ->> 'approvers' WHEN 'admin' THEN m.role >= 3
      WHEN 'owner' THEN m.role = 4 ELSE EXISTS (SELECT FROM organizations_team_member p
        WHERE p.developer_id = m.developer_id AND p.team_id::text = d ->> 'approvers') END
    UNION ALL SELECT FROM organizations_tier t WHERE t.organization_id = r.organization_id
      AND t.above = organizations_present_tier(r.organization_id, r.amount, r.body ->> 'budget_id' IS NOT NULL)
      AND (m.role >= t.role OR EXISTS (SELECT FROM organizations_team_member p
        WHERE p.developer_id = m.developer_id AND p.team_id = t.team_id))) END
"""  # noqa: S608

REQUESTS_WAITING = PageFact(f"SELECT count(*) {_WAITING.format(person='asked.developer_id')}")
"""Requests of own organizations that the person may approve."""

_LIST = f"""
SELECT r.id, r.kind, r.body, r.initiator_id, r.created_at, r.expires_at, o.slug, o.name {_WAITING.format(person="$1")}
  AND ($3::uuid IS NULL OR o.id = $3) ORDER BY r.created_at, r.id LIMIT $2
"""


class WaitingRequest(msgspec.Struct, frozen=True):
    """A pending request with the organization that it is of."""

    id: UUID
    kind: str
    body: dict[str, Any]
    initiator_id: int
    created_at: datetime
    expires_at: datetime
    slug: str
    name: str


async def waiting_for_person(
    tx: Tx, developer_id: int, limit: int, organization_id: UUID | None
) -> list[WaitingRequest]:
    """The requests, the oldest first."""
    rows = await tx.fetch(_LIST, developer_id, limit, organization_id)
    return [WaitingRequest(**{**row, "body": json.loads(row["body"])}) for row in rows]

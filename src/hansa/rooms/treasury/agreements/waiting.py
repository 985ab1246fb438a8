"""Work and disputes of organizations that wait for a person: of treasuries for their admins, of agents for members who may act as the agent."""

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.page_facts import PageFact
from hansa.rooms import catalogue, commerce

SHOWN_MAX = 100

WORK_WAITING = PageFact(f"""
SELECT json_agg(f) FROM (
  SELECT * FROM (
    SELECT asked.did, asked.is_treasury, asked.slug, asked.organization, ({catalogue.NAME_ON_CARD.expression}) AS name,
      ({commerce.REVIEWS_WAITING.expression}) AS reviews, ({commerce.ANSWERS_WAITING.expression}) AS answers
    FROM organizations_acted_for(asked.developer_id) asked
  ) counted WHERE reviews > 0 OR answers > 0 ORDER BY is_treasury DESC, slug, did LIMIT {SHOWN_MAX}
) f
""")  # noqa: S608
"""The accounts of organizations with contracts to review or disputes to answer, as JSON; null: none."""

_READ = f"SELECT ({WORK_WAITING.expression}) FROM (SELECT $1::bigint AS developer_id) asked"  # noqa: S608


class WaitingWork(msgspec.Struct, frozen=True):
    """Account of an organization with contracts to review or disputes to answer."""

    did: str
    is_treasury: bool
    slug: str
    organization: str
    name: str | None
    reviews: int
    answers: int


def work_waiting_in(fact: str | None) -> list[WaitingWork]:
    """Return the accounts in the value of `WORK_WAITING`."""
    return msgspec.json.decode(fact, type=list[WaitingWork]) if fact else []


async def work_waiting_for(tx: Tx, developer_id: int) -> list[WaitingWork]:
    """The accounts with work that waits for this person."""
    return work_waiting_in(await tx.fetchval(_READ, developer_id))

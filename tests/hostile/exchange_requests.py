"""Listings of a public organization of the staged developer and of others, in the state that each request needs, and the bodies of requests."""

from collections.abc import Awaitable, Callable
from itertools import count
from typing import TYPE_CHECKING, Any

from tests.exchange import terms
from tests.organizations import found

if TYPE_CHECKING:
    from tests.hostile.well_formed import Stage

_numbers = count(1)

# One that has ended: the organization then has no live listing.
_END = """
UPDATE exchange_listing SET status = 'FAILED', fee_bps = 50, digest = decode(repeat('ab', 32), 'hex'), approved_at = now(), ended_at = now()
WHERE organization_id = $1::text::uuid AND status IN ('DRAFT', 'REVIEW')
"""

_INSERT = """
INSERT INTO exchange_listing (ref, organization_id, treasury_did, status, total, price, min_raise, opens_at, closes_at, per_owner_max,
  revenue_bps, term_months, tick, prospectus_url, prospectus_sha256, fee_bps, digest, approved_at, sold, launched_at, ends_at, last_price)
SELECT $1, o.id, o.treasury_did, $3, 1000, 100, 0, at + CASE WHEN $4 THEN interval '1 day' ELSE interval '-1 day' END,
  at + CASE WHEN $5 THEN interval '-1 hour' ELSE interval '2 days' END, 100, 10, 12, 100, 'https://guild.example/', decode(repeat('ab', 32), 'hex'),
  CASE WHEN NOT $6 THEN 50 END, CASE WHEN NOT $6 THEN decode(repeat('ab', 32), 'hex') END, CASE WHEN NOT $6 THEN at END,
  CASE WHEN $5 THEN 10 ELSE 0 END, CASE WHEN $5 THEN at END, CASE WHEN $5 THEN at + interval '12 months' END, CASE WHEN $5 THEN 100 END
FROM organizations_organization o, clock_timestamp() at WHERE o.id = $2::text::uuid
"""


async def _own(stage: "Stage") -> str:
    """The id of a public organization of the staged developer, without a live listing."""
    database = stage.registry.database
    known = await database.read(
        lambda tx: tx.fetchval(
            "SELECT o.id::text FROM organizations_organization o JOIN organizations_member m ON m.organization_id = o.id"
            " JOIN people_developer d ON d.id = m.developer_id WHERE d.email = $1 AND o.slug LIKE 'listed-guild-%'",
            stage.developer.email,
        )
    )
    if known is None:
        slug = f"listed-guild-{next(_numbers)}"
        known = (await found(stage.registry, stage.developer, slug=slug, visibility="public")).created["id"]
    await database.transaction(lambda tx: tx.execute(_END, known))
    return str(known)


async def _listed(stage: "Stage", organization_id: str, status: str) -> str:
    """The reference of a new listing of the organization in this status."""
    ref = terms()["ref"]
    is_hidden, is_launched = status in {"DRAFT", "REVIEW"}, status in {"TRADING", "HALTED"}
    is_ahead = is_hidden or status == "APPROVED"
    values = (ref, organization_id, status, is_ahead, is_launched, is_hidden)
    await stage.registry.database.transaction(lambda tx: tx.execute(_INSERT, *values))
    return str(ref)


def _own_in(status: str, act: str = "") -> Callable[["Stage"], Awaitable[str]]:
    """`<ref>` with the act, of a listing of the staged developer's organization."""

    async def made(stage: "Stage") -> str:
        return f"{await _listed(stage, await _own(stage), status)}{act}"

    return made


def _of_others_in(status: str, act: str = "") -> Callable[["Stage"], Awaitable[str]]:
    """`<ref>` with the act, of a listing of an organization to which the staged developer is not related."""

    async def made(stage: "Stage") -> str:
        other = await found(stage.registry, visibility="public")
        return f"{await _listed(stage, other.created['id'], status)}{act}"

    return made


async def _subscribe(stage: "Stage") -> None:
    """Let the staged agent subscribe to the newest launch."""
    ref = await stage.registry.database.read(
        lambda tx: tx.fetchval(
            "SELECT ref FROM exchange_listing WHERE status = 'LAUNCHING' ORDER BY created_at DESC LIMIT 1"
        )
    )
    made = await stage.registry.post(
        f"/agora/listings/{ref}/launch/buy", json={"qty": 1}, headers=stage.agent.headers
    )
    assert made.status_code == 201, made.text


async def _body_of_listing(stage: "Stage") -> dict[str, Any]:
    return {"organization_id": await _own(stage), "terms": terms()}


async def _body_of_changes(_: "Stage") -> dict[str, Any]:
    return {"total": 900}


async def _body_of_decision(_: "Stage") -> dict[str, Any]:
    return {"reason": "For a test."}


async def _body_of_subscription(_: "Stage") -> dict[str, Any]:
    return {"qty": 1}


MADE_ANEW: dict[str, Callable[["Stage"], Awaitable[str]]] = {
    "admin/agora/listings/{ref}/approve": _of_others_in("REVIEW", "/approve"),
    "admin/agora/listings/{ref}/reject": _of_others_in("REVIEW", "/reject"),
    "admin/agora/listings/{ref}/delist": _of_others_in("APPROVED", "/delist"),
    "admin/agora/listings/{ref}/halt": _of_others_in("TRADING", "/halt"),
    "admin/agora/listings/{ref}/resume": _of_others_in("HALTED", "/resume"),
    "agora/listings/{ref}/launch/buy": _of_others_in("LAUNCHING", "/launch/buy"),
    "agora/listings/{ref}/submit": _own_in("DRAFT", "/submit"),
    "agora/listings/{ref}/withdraw": _own_in("REVIEW", "/withdraw"),
    "agora/listings/{ref}": _own_in("DRAFT"),
}
"""Objects named by a path, the longest first."""

BEFORE: dict[str, Callable[["Stage"], Awaitable[None]]] = {
    "GET /api/v1/agora/listings/{ref}/launch/buy": _subscribe,
    "DELETE /api/v1/agora/listings/{ref}/launch/buy": _subscribe,
}

BODIES: dict[str, Callable[["Stage"], Awaitable[dict[str, Any]]]] = {
    **{
        f"POST /api/v1/admin/agora/listings/{{ref}}/{act}": _body_of_decision
        for act in ("approve", "reject", "delist", "halt", "resume")
    },
    "POST /api/v1/agora/listings": _body_of_listing,
    "PATCH /api/v1/agora/listings/{ref}": _body_of_changes,
    "POST /api/v1/agora/listings/{ref}/launch/buy": _body_of_subscription,
}

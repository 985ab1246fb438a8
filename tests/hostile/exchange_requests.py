"""Listings of a public organization of the staged developer and of others, in the state that each request needs, and the bodies of requests."""

from collections.abc import Awaitable, Callable
from itertools import count
from typing import TYPE_CHECKING, Any

from hansa.rooms.exchange.cards import make_stock_card
from tests.exchange import insert, terms
from tests.organizations import found

if TYPE_CHECKING:
    from tests.hostile.well_formed import Stage

_numbers = count(1)
TRADED, FURNISHED = "STAGED", "SEEN"

_GIVE_ONE = """
INSERT INTO exchange_holding AS h (ref, agent_did, qty) VALUES ($1, $2, 1) ON CONFLICT (ref, agent_did) DO UPDATE SET qty = h.qty + 1
"""
_GIVE = """
INSERT INTO exchange_point_posting (ref, seq, agent_did, delta, cause) VALUES ($1, 1, $2, 10, 'launch'), ($1, 1, '', -10, 'launch')
"""
# Trades hours apart have several candles.
_AGE = """
UPDATE exchange_trade t SET recorded_at = recorded_at - interval '3 hours'
WHERE ref = $1 AND seq = (SELECT min(seq) FROM exchange_trade WHERE ref = $1)
"""
_HOLD = "INSERT INTO exchange_holding (ref, agent_did, qty, cost) VALUES ($1, $2, 10, 1000)"

# One that has ended: the organization then has no live listing.
_END = """
UPDATE exchange_listing SET status = 'FAILED', fee_bps = 50, digest = decode(repeat('ab', 32), 'hex'), approved_at = now(), ended_at = now()
WHERE organization_id = $1::text::uuid AND status IN ('DRAFT', 'REVIEW')
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


async def _listed(stage: "Stage", organization_id: str, status: str, ref: str | None = None) -> str:
    """The reference of a new listing of the organization in this status."""
    return await stage.registry.database.transaction(lambda tx: insert(tx, organization_id, status, ref))


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


def _page_of_own(status: str, page: str) -> Callable[["Stage"], Awaitable[str]]:
    """`<organization>/listing/<ref>` with the act, of a listing of the staged developer's organization."""

    async def made(stage: "Stage") -> str:
        organization_id = await _own(stage)
        ref = await _listed(stage, organization_id, status)
        return f"{organization_id}/listing/{ref}{page}"

    return made


async def _page_without_listing(stage: "Stage") -> str:
    return f"{await _own(stage)}/listing"


async def _page_of_market(stage: "Stage") -> str:
    """The reference of the listing that was furnished, or of a new one that trades."""
    known = await stage.registry.database.read(
        lambda tx: tx.fetchval("SELECT ref FROM exchange_listing WHERE ref = $1", FURNISHED)
    )
    return str(known) if known else await _of_others_in("TRADING")(stage)


async def furnish(stage: "Stage") -> None:
    """A listing with orders on both sides, with trades and with holders."""
    other = await found(stage.registry, visibility="public", name="W" * 100)
    await _listed(stage, other.created["id"], "TRADING", FURNISHED)

    async def give(tx: Any) -> None:
        await tx.execute("UPDATE exchange_listing SET seq = 1 WHERE ref = $1", FURNISHED)
        await tx.execute(_GIVE, FURNISHED, stage.payee.did)
        await tx.execute(_HOLD, FURNISHED, stage.payee.did)

    await stage.registry.database.transaction(give)
    for agent, side, qty, price in (
        (stage.payee, "sell", 2, "0.000002"),
        (stage.agent, "buy", 1, "0.000002"),
        (stage.payee, "sell", 2, "0.000003"),
        (stage.agent, "buy", 2, "0.000003"),
        (stage.payee, "sell", 3, "0.000004"),
        (stage.agent, "buy", 5, "0.000001"),
    ):
        body = {"listing": FURNISHED, "side": side, "qty": qty, "order_type": "limit", "price": price}
        made = await stage.registry.post("/agora/orders", json=body, headers=agent.headers)
        assert made.status_code == 201, made.text

    async def age(tx: Any) -> None:
        await tx.execute("SET LOCAL session_replication_role = replica")
        await tx.execute(_AGE, FURNISHED)

    await stage.registry.database.transaction(age)


async def _list_traded(stage: "Stage") -> None:
    """Let the listing TRADED be there."""
    known = await stage.registry.database.read(
        lambda tx: tx.fetchval("SELECT true FROM exchange_listing WHERE ref = $1", TRADED)
    )
    if known is None:
        other = await found(stage.registry, visibility="public")
        await _listed(stage, other.created["id"], "TRADING", TRADED)


def _points_of_own(act: str) -> Callable[["Stage"], Awaitable[str]]:
    """The listing TRADED with the act, of which the staged agent has another point."""

    async def made(stage: "Stage") -> str:
        await _list_traded(stage)
        await stage.registry.database.transaction(lambda tx: tx.execute(_GIVE_ONE, TRADED, stage.agent.did))
        return f"{TRADED}{act}"

    return made


async def _order(stage: "Stage") -> str:
    """The id of an open order of the staged agent."""
    made = await stage.registry.post(
        "/agora/orders", json=await _body_of_order(stage), headers=stage.agent.headers
    )
    assert made.status_code == 201, made.text
    return str(made.json()["order_id"])


async def _body_of_order(stage: "Stage") -> dict[str, Any]:
    other = await found(stage.registry, visibility="public")
    ref = await _listed(stage, other.created["id"], "TRADING")
    return {"listing": ref, "side": "buy", "qty": 1, "order_type": "limit", "price": "0.000001"}


async def _body_of_claim(_: "Stage") -> dict[str, Any]:
    return {}


async def _body_of_points(stage: "Stage") -> dict[str, Any]:
    """Points of the staged agent that it gives up."""
    other = await found(stage.registry, visibility="public")
    ref = await _listed(stage, other.created["id"], "TRADING")
    await stage.registry.database.transaction(
        lambda tx: tx.execute(
            "INSERT INTO exchange_holding (ref, agent_did, qty) VALUES ($1, $2, 1)", ref, stage.agent.did
        )
    )
    return {"to": None, "ref": ref, "qty": 1}


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
    **{
        f"agora/listings/{{ref}}/{what}": _of_others_in("TRADING", f"/{what}")
        for what in ("book", "trades", "candles", "holders")
    },
    "agora/orders/{order_id}": _order,
    "agora/listings/{ref}/launch/buy": _of_others_in("LAUNCHING", "/launch/buy"),
    "agora/listings/{ref}/submit": _own_in("DRAFT", "/submit"),
    "agora/listings/{ref}/withdraw": _own_in("REVIEW", "/withdraw"),
    "agora/listings/{ref}": _own_in("DRAFT"),
    "/administration/listings/{ref}/{act}": _of_others_in("REVIEW", "/approve"),
    "/administration/listings/{ref}": _of_others_in("REVIEW"),
    "/administration/trading/{ref}/{act}": _of_others_in("TRADING", "/halt"),
    "/account/organizations/{organization_id}/listing/{ref}/{act}": _page_of_own("DRAFT", "/submit"),
    "/account/organizations/{organization_id}/listing/{ref}": _page_of_own("DRAFT", ""),
    "/account/organizations/{organization_id}/listing": _page_without_listing,
    "/market/{ref}/subscribe": _of_others_in("LAUNCHING", "/subscribe"),
    "/market/{ref}/unsubscribe": _of_others_in("LAUNCHING", "/unsubscribe"),
    "/market/{ref}/transfer": _points_of_own("/transfer"),
    "/market/{ref}/give-up": _points_of_own("/give-up"),
    "/market/{ref}": _page_of_market,
}
"""Objects named by a path, the longest first."""


async def _make_stock_card(stage: "Stage") -> None:
    """A stock card that is there stays as it is: requests change nothing of it."""
    runtime = stage.registry.runtime
    await stage.registry.database.transaction(lambda tx: make_stock_card(tx, runtime))


BEFORE: dict[str, Callable[["Stage"], Awaitable[None]]] = {
    "GET /api/v1/agora/stock-card": _make_stock_card,
    "GET /api/v1/agora/listings/{ref}/launch/buy": _subscribe,
    "DELETE /api/v1/agora/listings/{ref}/launch/buy": _subscribe,
    "DELETE /api/v1/agora/orders": _list_traded,
    "POST /account/agents/{did}/market/{ref}/unsubscribe": _subscribe,
}

BODIES: dict[str, Callable[["Stage"], Awaitable[dict[str, Any]]]] = {
    **{
        f"POST /api/v1/admin/agora/listings/{{ref}}/{act}": _body_of_decision
        for act in ("approve", "reject", "delist", "halt", "resume")
    },
    "POST /api/v1/agora/listings": _body_of_listing,
    "POST /api/v1/agora/orders": _body_of_order,
    "POST /api/v1/agora/distributions/claim": _body_of_claim,
    "POST /api/v1/agora/points/transfer": _body_of_points,
    "PATCH /api/v1/agora/listings/{ref}": _body_of_changes,
    "POST /api/v1/agora/listings/{ref}/launch/buy": _body_of_subscription,
}


async def _form_of_nothing(_: "Stage") -> dict[str, str]:
    return {}


async def _form_of_order(_: "Stage") -> dict[str, str]:
    return {
        "side": "buy",
        "qty": "1",
        "order_type": "limit",
        "price": "0.000001",
        "time_in_force": "gtc",
        "ttl_seconds": "3600",
    }


async def _form_of_cancel(stage: "Stage") -> dict[str, str]:
    return {"order_id": await _order(stage)}


async def _form_of_subscription(_: "Stage") -> dict[str, str]:
    return {"points": "1"}


async def _form_of_transfer(stage: "Stage") -> dict[str, str]:
    return {"to": stage.spare.did, "points": "1"}


async def _form_of_giving_up(_: "Stage") -> dict[str, str]:
    return {"given_up": "1", "typed_name": TRADED}


async def _form_of_listing(_: "Stage") -> dict[str, str]:
    given = terms()
    prospectus = given.pop("prospectus")
    moments = {name: given[name][:16] for name in ("opens_at", "closes_at")}
    shown = {name: str(value) for name, value in given.items()}
    return shown | moments | {"prospectus_url": prospectus["url"], "prospectus_sha256": prospectus["sha256"]}


MARKET, LISTING = (
    "POST /account/agents/{did}/market/{ref}",
    "POST /account/organizations/{organization_id}/listing",
)
FORMS: dict[str, Callable[["Stage"], Awaitable[dict[str, str]]]] = {
    f"{MARKET}/check": _form_of_order,
    "POST /account/agents/{did}/market/claim": _form_of_nothing,
    f"{MARKET}/order": _form_of_order,
    f"{MARKET}/cancel": _form_of_cancel,
    f"{MARKET}/subscribe": _form_of_subscription,
    f"{MARKET}/unsubscribe": _form_of_nothing,
    f"{MARKET}/transfer": _form_of_transfer,
    f"{MARKET}/give-up": _form_of_giving_up,
    LISTING: _form_of_listing,
    f"{LISTING}/{{ref}}": _form_of_listing,
    f"{LISTING}/{{ref}}/{{act}}": _form_of_nothing,
}
"""Fields of the forms of pages, without their key."""

"""Points by own agents: what an agent holds, its orders and its subscription at a listing. Each act states what it holds and costs first."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec
from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response
from msgspec.structs import replace

from hansa.doors.console.access import Act, Acting, SentForm, SignedIn, SignedInPerson, see_other, tried
from hansa.doors.console.access.forms import whole_number, with_decimal_point
from hansa.doors.console.api_acts import ApiAnswer
from hansa.foundation.plumbing.process.runtime import Config, Db
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.foundation.plumbing.web.caller import Agent
from hansa.foundation.plumbing.web.caller.agents import require_permission
from hansa.foundation.plumbing.web.lazy_routes import LazyRoute
from hansa.foundation.plumbing.web.limits import within_read_limit
from hansa.foundation.values.errors import OrgRoleRequired, Refused
from hansa.foundation.values.money import format_amount
from hansa.foundation.values.rights import Right
from hansa.rooms import agents, exchange, ledger

from .acting import act_as, approve_first, awaiting_page
from .approved import approved_payments
from .pages import ACTS, READS, MyDid, acting_as, address_of, agent_page, choice_page, own_agent

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=LazyRoute)

PAGE = "/account/agents/{did}/market"
AGENTS_OFFERED, LEVELS_SHOWN, QUERY_MAX = 100, 5, 64
SIDES = (("buy", "Buy"), ("sell", "Sell"))
TYPES = (("limit", "At a price or better"), ("market", "At the market, at most 10 % beyond the best price"))
TIMES = (
    ("gtc", "Until it is filled or cancelled"),
    ("ioc", "At once; the rest ends"),
    ("fok", "At once and whole, or not at all"),
)
LIVES = (
    ("", "Until it is filled or cancelled"),
    ("3600", "An hour"),
    ("86400", "A day"),
    ("604800", "A week"),
    ("2592000", "30 days"),
    ("7776000", "90 days"),
)
NO_PRICE = {"price": None, "time_in_force": None, "ttl_seconds": None, "post_only": False, "replaces": None}
ORDER_FIELDS = (
    "side",
    "qty",
    "order_type",
    "price",
    "time_in_force",
    "ttl_seconds",
    "post_only",
    "replaces",
)
# Refusals that are about one field and do not name it.
FIELD_OF_CODE = {
    "INSUFFICIENT_POINTS": "qty",
    "INSUFFICIENT_BALANCE": "qty",
    "OWNER_MAXIMUM": "points",
    "POST_ONLY": "price",
}
Preview = exchange.ShownOrder | agents.Approval


class _AtListing(msgspec.Struct, frozen=True):
    """Points, open orders and subscription of an agent at a listing."""

    subscription: exchange.Subscription | None
    orders: list[exchange.Order]
    holding: exchange.Held | None


@router.get("/account/market/{ref}", dependencies=[Depends(within_read_limit)])
async def choose_trader(
    ref: exchange.RefInPath, person: SignedInPerson, request: Request, db: Db
) -> HTMLResponse:
    """Choose the own agent that trades at a listing. Raises: ListingUnknown."""
    _, (owned, _) = await db.read(
        lambda tx: read_together(
            tx,
            lambda tx: exchange.read_listing(tx, None, ref),
            lambda tx: agents.oldest_of_developer(tx, person.developer.id, AGENTS_OFFERED),
        )
    )
    return choice_page(
        request,
        person,
        owned,
        act="Trade",
        lead="Choose the agent that trades. Its account pays, and it holds the points. It needs the role trader.",
        page=f"market/{ref}",
        back=(f"/market/{ref}", ref),
    )


@router.get(PAGE, dependencies=READS)
async def show_portfolio(
    did: MyDid, person: SignedInPerson, request: Request, db: Db, settings: Config
) -> HTMLResponse:
    """The points of an own agent, and its open orders."""
    return await _portfolio(request, person, db, did, settings=settings)


@router.get(f"{PAGE}/{{ref}}", dependencies=READS)
async def show_trading(
    did: MyDid, ref: exchange.RefInPath, person: SignedInPerson, request: Request, db: Db, *, settings: Config
) -> HTMLResponse:
    """A listing with the form of an order, which the address may fill in, or of a subscription, and what the agent has there. Raises: ListingUnknown."""
    given = request.query_params
    form = SentForm([(name, given.get(name, "")[:QUERY_MAX]) for name in (*ORDER_FIELDS, "approval_id")])
    return await _page(request, person, db, did, ref, settings=settings, form=form)


@router.post(f"{PAGE}/{{ref}}/check", dependencies=ACTS)
async def check_order(
    did: MyDid, ref: exchange.RefInPath, sender: Act, request: Request, db: Db, *, settings: Config
) -> Response:
    """The dry run of an order: its trades, its fee and what it holds. Nothing is placed."""
    agent = await own_agent(db, sender.person, did)
    form = sender.form
    try:
        trader = _trader(agent, sender.person, settings)
        new = form.read_as(exchange.OrderIn, **NO_PRICE | _order(form, ref)).order(None, None)
        preview: Preview = await tried(db, lambda tx: exchange.place(tx, trader, new, settings))
    except Refused as refusal:
        refused = _with_field(form.refused(refusal), refusal.code)
        return await _page(
            request, sender.person, db, did, ref, settings=settings, form=refused, status=refusal.status
        )
    shown = await db.read(lambda tx: exchange.read_listing(tx, None, ref))
    return agent_page(
        request,
        "own_agents/order-confirm.html",
        sender.person,
        agent,
        form,
        shown=shown,
        preview=preview,
        waits=isinstance(preview, agents.Approval),
        kept=(*ORDER_FIELDS, "approval_id"),
        words=dict(SIDES),
        times=dict(TIMES),
        lives=dict(LIVES),
        currency=settings.settlement_currency,
    )


@router.post(f"{PAGE}/{{ref}}/order", dependencies=ACTS)
async def place_order(
    did: MyDid, ref: exchange.RefInPath, sender: Act, request: Request, db: Db, *, settings: Config
) -> Response:
    """Place the order as the agent."""
    agent = await own_agent(db, sender.person, did)
    body = _order(sender.form, ref)
    if approval := await approve_first(request, sender, did):
        body["approval_id"] = approval
    answer = await act_as(request, sender, did, "/agora/orders", body)
    return await _outcome(request, sender, db, agent, ref, settings=settings, answer=answer, verb="order")


@router.post(f"{PAGE}/{{ref}}/cancel", dependencies=ACTS)
async def cancel_order(
    did: MyDid, ref: exchange.RefInPath, sender: Act, request: Request, db: Db, *, settings: Config
) -> Response:
    """Cancel an open order, or all at the listing; one that has ended is no trouble."""
    agent = await own_agent(db, sender.person, did)
    if sender.form.value("all") == "true":
        answer = await act_as(request, sender, did, "/agora/orders", method="DELETE", query={"listing": ref})
    else:
        order = sender.form.value("order_id") or "-"
        answer = await act_as(request, sender, did, f"/agora/orders/{order}", method="DELETE")
    if answer.is_refused and answer.code == "ORDER_ENDED":
        return see_other(address_of(did, f"market/{ref}", "ended"))
    return await _outcome(request, sender, db, agent, ref, settings=settings, answer=answer, verb="cancel")


@router.post(f"{PAGE}/claim", dependencies=ACTS)
async def claim_distributions(
    did: MyDid, sender: Act, request: Request, db: Db, settings: Config
) -> Response:
    """Claim what the agent is owed of the revenue of one listing, or of all; nothing owed is no trouble."""
    agent = await own_agent(db, sender.person, did)
    ref = sender.form.value("ref")
    answer = await act_as(request, sender, did, "/agora/distributions/claim", {"ref": ref} if ref else {})
    if answer.is_refused:
        refused = answer.on(sender.form)
        return await _portfolio(
            request, sender.person, db, agent.did, settings=settings, form=refused, status=answer.status
        )
    return see_other(address_of(did, "market", "claimed"))


@router.post(f"{PAGE}/{{ref}}/subscribe", dependencies=ACTS)
async def subscribe(
    did: MyDid, ref: exchange.RefInPath, sender: Act, request: Request, db: Db, *, settings: Config
) -> Response:
    """Subscribe to the launch as the agent."""
    agent = await own_agent(db, sender.person, did)
    body: dict[str, Any] = {"qty": whole_number(sender.form.value("points"))}
    if approval := await approve_first(request, sender, did):
        body["approval_id"] = approval
    answer = await act_as(request, sender, did, f"/agora/listings/{ref}/launch/buy", body)
    return await _outcome(request, sender, db, agent, ref, settings=settings, answer=answer, verb="subscribe")


@router.post(f"{PAGE}/{{ref}}/unsubscribe", dependencies=ACTS)
async def unsubscribe(
    did: MyDid, ref: exchange.RefInPath, sender: Act, request: Request, db: Db, *, settings: Config
) -> Response:
    """Cancel the subscription while the launch is open."""
    agent = await own_agent(db, sender.person, did)
    path = f"/agora/listings/{ref}/launch/buy"
    answer = await act_as(request, sender, did, path, method="DELETE")
    return await _outcome(
        request, sender, db, agent, ref, settings=settings, answer=answer, verb="unsubscribe"
    )


async def _portfolio(
    request: Request,
    person: SignedIn,
    db: Database,
    did: str,
    *,
    settings: Settings,
    form: SentForm | None = None,
    status: int = 200,
) -> HTMLResponse:
    agent, portfolio, orders = await db.read(
        lambda tx: read_together(
            tx,
            lambda tx: agents.own_agent(tx, person.developer.id, did),
            lambda tx: exchange.portfolio_of(tx, did),
            lambda tx: exchange.read_resting(tx, did, None),
        )
    )
    return agent_page(
        request,
        "own_agents/portfolio.html",
        person,
        agent,
        form,
        status=status,
        portfolio=portfolio,
        orders=orders,
        owed=sum(held.owed for held in portfolio.holdings),
        currency=settings.settlement_currency,
    )


def _trader(agent: agents.OwnedAgent, person: SignedIn, settings: Settings) -> Agent:
    """The agent as the API sees it, for a preview. Raises: OrgRoleRequired, PermissionMissing."""
    if agent.held_right < Right.OPERATE:
        raise OrgRoleRequired
    trader = replace(acting_as(agent, person), is_governed=True, organization_id=agent.organization_id)
    require_permission(trader, exchange.PERMISSION, settings.agent_rbac_mode)
    return trader


def _order(form: SentForm, ref: str) -> dict[str, Any]:
    """The order of a form, as the API takes it; a market order has a price and terms of resting no more than it rests."""
    body: dict[str, Any] = {
        "listing": ref,
        "side": form.value("side"),
        "qty": whole_number(form.value("qty")),
        "order_type": form.value("order_type"),
    }
    if body["order_type"] != "market":
        body["price"] = with_decimal_point(form.value("price").strip())
        body["time_in_force"] = form.value("time_in_force")
        body["post_only"] = form.value("post_only") == "true"
        if life := form.value("ttl_seconds"):
            body["ttl_seconds"] = whole_number(life)
    elif form.value("time_in_force") == "fok":
        # Its choice is not left out: the API refuses it.
        body["time_in_force"] = "fok"
    if replaces := form.value("replaces"):
        body["replaces"] = replaces
    return body


def _replaceable(orders: Sequence[exchange.Order], named: str) -> list[tuple[str, str]]:
    """The open orders that a new one may replace. One that is named and has ended is among them: nothing is placed in its place."""
    found = [
        (str(order.id), f"{order.side.capitalize()} {order.remaining} at {format_amount(order.price)}")
        for order in orders
        if order.price is not None
    ]
    ended = [(named, "An order that is not open")] if named and named not in dict(found) else []
    return [("", "No order"), *found, *ended]


def _with_field(form: SentForm, code: str) -> SentForm:
    field = FIELD_OF_CODE.get(code)
    return SentForm(form.fields, {field: form.message or ""}, form.message) if field else form


async def _outcome(
    request: Request,
    sender: Acting,
    db: Database,
    agent: agents.OwnedAgent,
    ref: str,
    *,
    settings: Settings,
    answer: ApiAnswer,
    verb: str,
) -> Response:
    """Lead back to the listing, show the refusal, or ask the person for the approval of the payment."""
    if answer.is_refused:
        refused = answer.on(sender.form, **({"qty": "points"} if verb == "subscribe" else {}))
        return await _page(
            request,
            sender.person,
            db,
            agent.did,
            ref,
            settings=settings,
            form=_with_field(refused, answer.code),
            status=answer.status,
        )
    if answer.awaits_owner:
        _, asked = await db.read(
            lambda tx: agents.own_approval(tx, sender.person.developer, UUID(answer.approval["approval_id"]))
        )
        return awaiting_page(
            request,
            sender,
            agent,
            answer,
            payee=asked.payee,
            amount=format_amount(asked.amount),
            kept=ORDER_FIELDS if verb == "order" else ("points",),
            verb=verb,
        )
    return see_other(address_of(agent.did, f"market/{ref}", verb))


async def _page(
    request: Request,
    person: SignedIn,
    db: Database,
    did: str,
    ref: str,
    *,
    settings: Settings,
    form: SentForm | None = None,
    status: int = 200,
) -> HTMLResponse:
    async def at_listing(tx: Tx) -> _AtListing:
        return _AtListing(
            await exchange.newest_of(tx, did, ref),
            await exchange.read_resting(tx, did, ref),
            next((one for one in (await exchange.portfolio_of(tx, did)).holdings if one.ref == ref), None),
        )

    agent, shown, book, own, approved, balance = await db.read(
        lambda tx: read_together(
            tx,
            lambda tx: agents.own_agent(tx, person.developer.id, did),
            lambda tx: exchange.read_listing(tx, None, ref),
            lambda tx: exchange.read_book(tx, ref, LEVELS_SHOWN),
            at_listing,
            lambda tx: approved_payments(tx, did, settings),
            lambda tx: ledger.balance_of(tx, did),
        )
    )
    return agent_page(
        request,
        "own_agents/trade.html",
        person,
        agent,
        form,
        status=status,
        shown=shown,
        book=book,
        own=own,
        approved=[one for one in approved if one.approval.receiver_did == shown.listing.treasury_did],
        balance=balance,
        sides=SIDES,
        types=TYPES,
        times=TIMES,
        lives=LIVES,
        replaceable=_replaceable(own.orders, (form or SentForm()).value("replaces")),
        currency=settings.settlement_currency,
    )

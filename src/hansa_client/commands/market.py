"""`market`: orders, launches and points of an agent, and the market that anyone reads."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .callers import Caller, OnceCaller, as_agent, once_as_agent
from .options import ApprovalId, AsJson, Limit, ProfileName, examples

if TYPE_CHECKING:
    from hansa_client.records.market import Level, Listing, Order, Subscription

app = typer.Typer(
    help="Trade points of organizations: rights to a share of their revenue for a term, which end worthless.",
    no_args_is_help=True,
)

Ref = Annotated[str, typer.Argument(help="Reference of the listing, as `market list` shows it.")]
OrderId = Annotated[str, typer.Argument(help="Id of the order, as `market orders` shows it.")]
Quantity = Annotated[int, typer.Argument(min=1, help="Whole points.")]


@app.command("list", epilog=examples("hansa-client market list"))
def list_listings(*, profile: ProfileName = None, as_json: AsJson = False) -> None:
    """List the listings."""
    from .opening import as_anyone, show

    with as_anyone(profile) as registry:
        found = registry.agent.market.listings()
        show("\n".join(map(listing_line, found.listings)) or "No listings.", found, as_json=as_json)


@app.command("show", epilog=examples("hansa-client market show GUILD"))
def show_listing_of(ref: Ref, *, profile: ProfileName = None, as_json: AsJson = False) -> None:
    """Show a listing with its terms."""
    from .opening import as_anyone

    with as_anyone(profile) as registry:
        show_listing(registry.agent.market.listing(ref), as_json=as_json)


@app.command("book", epilog=examples("hansa-client market book GUILD --depth 5"))
def show_book(
    ref: Ref,
    *,
    depth: Annotated[int, typer.Option(min=1, max=200, help="Levels of each side.")] = 12,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Show the best prices of both sides: price, points and orders."""
    from .opening import as_anyone, show

    with as_anyone(profile) as registry:
        book = registry.agent.market.book(ref, depth=depth)
        lines = [
            *(f"sell  {_level(one)}" for one in reversed(book.asks)),
            *(f"buy   {_level(one)}" for one in book.bids),
        ]
        show("\n".join(lines) or "No orders.", book, as_json=as_json)


@app.command("trades", epilog=examples("hansa-client market trades GUILD"))
def list_trades(ref: Ref, *, limit: Limit = 50, profile: ProfileName = None, as_json: AsJson = False) -> None:
    """List the newest trades, the newest first."""
    from .opening import as_anyone, show

    with as_anyone(profile) as registry:
        found = registry.agent.market.trades(ref, limit=limit)
        lines = [
            f"{one.at.isoformat(timespec='seconds')}  {one.qty} at {one.price:f}  {one.seller} to {one.buyer}"
            for one in found.trades
        ]
        show("\n".join(lines) or "No trades.", found, as_json=as_json)


@app.command("candles", epilog=examples("hansa-client market candles GUILD --span 1d"))
def list_candles(
    ref: Ref,
    *,
    span: Annotated[
        Literal["1m", "5m", "15m", "1h", "4h", "1d", "1w"], typer.Option(help="Span of a candle.")
    ] = "1h",
    since: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"], help="Leave out earlier ones, in UTC."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")] = 120,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """List candles, the oldest first; spans without a trade are absent."""
    from datetime import UTC

    from .opening import as_anyone, show

    with as_anyone(profile) as registry:
        found = registry.agent.market.candles(
            ref, span, since=None if since is None else since.replace(tzinfo=UTC), limit=limit
        )
        lines = [
            f"{one.t.isoformat(timespec='minutes')}  open {one.open:f}  high {one.high:f}  low {one.low:f}  close {one.close:f}  volume {one.volume}"
            for one in found.candles
        ]
        show("\n".join(lines) or "No trades.", found, as_json=as_json)


@app.command("holders", epilog=examples("hansa-client market holders GUILD"))
def list_holders(
    ref: Ref, *, limit: Limit = 20, profile: ProfileName = None, as_json: AsJson = False
) -> None:
    """List agents with points, those with the most first."""
    from .opening import as_anyone, show

    with as_anyone(profile) as registry:
        found = registry.agent.market.holders(ref, limit=limit)
        lines = [f"{one.qty}  {one.did}{'  insider' if one.insider else ''}" for one in found.holders]
        show("\n".join(lines) or "No holders.", found, as_json=as_json)


@app.command("subscribe", epilog=examples("hansa-client market subscribe GUILD 100"))
@once_as_agent
def subscribe(own: OnceCaller, ref: Ref, qty: Quantity, *, approval_id: ApprovalId = None) -> None:
    """Subscribe to a launch; the points times the price are held until it closes."""
    made = own.registry.agent.market.subscribe(ref, qty, approval_id=approval_id, key=own.key)
    _show_subscription(made, as_json=own.as_json)


@app.command("subscription", epilog=examples("hansa-client market subscription GUILD"))
@as_agent
def show_subscription(own: Caller, ref: Ref) -> None:
    """Show the newest subscription of the agent to a launch."""
    _show_subscription(own.registry.agent.market.subscription(ref), as_json=own.as_json)


@app.command("unsubscribe", epilog=examples("hansa-client market unsubscribe GUILD"))
@as_agent
def unsubscribe(own: Caller, ref: Ref) -> None:
    """Cancel the subscription while the launch is open."""
    _show_subscription(own.registry.agent.market.unsubscribe(ref), as_json=own.as_json)


@app.command(
    "order",
    epilog=examples(
        "hansa-client market order buy GUILD 10 --price 2.5",
        "hansa-client market order sell GUILD 4",
        "hansa-client market order sell GUILD 10 --price 3 --post-only --hours 24",
    ),
)
@once_as_agent
def place_order(
    own: OnceCaller,
    side: Annotated[Literal["buy", "sell"], typer.Argument(help="Side of the order.")],
    ref: Ref,
    qty: Quantity,
    *,
    price: Annotated[
        str | None, typer.Option(help="Price of a point, or a better one; without it that of the market.")
    ] = None,
    time_in_force: Annotated[
        Literal["gtc", "ioc", "fok"] | None,
        typer.Option(help="`gtc` rests, `ioc` ends with its rest, `fok` is filled whole or not at all."),
    ] = None,
    post_only: Annotated[
        bool, typer.Option("--post-only", help="Refuse the order if it would trade on arrival.")
    ] = False,
    hours: Annotated[int | None, typer.Option(min=1, max=2160, help="Hours until the order expires.")] = None,
    replaces: Annotated[
        str | None, typer.Option(help="Id of an own open order that ends as this one is placed.")
    ] = None,
    client_order_id: Annotated[
        str | None, typer.Option(help="Name of the order, used once for ever by the agent.")
    ] = None,
    approval_id: ApprovalId = None,
) -> None:
    """Buy or sell points."""
    from datetime import timedelta

    from .opening import amount_of

    placed = own.registry.agent.market.order(
        ref,
        side,
        qty,
        None if price is None else amount_of(price),
        time_in_force=time_in_force,
        post_only=post_only,
        ttl=None if hours is None else timedelta(hours=hours),
        replaces=replaces,
        client_order_id=client_order_id,
        approval_id=approval_id,
        key=own.key,
    )
    _show_order(placed, as_json=own.as_json)


@app.command("orders", epilog=examples("hansa-client market orders --ref GUILD --status open"))
@as_agent
def list_orders(
    own: Caller,
    *,
    ref: Annotated[str | None, typer.Option(help="Only orders at this listing.")] = None,
    status: Annotated[
        Literal["open", "partially_filled", "filled", "cancelled", "expired"] | None,
        typer.Option(help="Only this status."),
    ] = None,
    limit: Limit = 50,
) -> None:
    """List orders of the agent, the newest first."""
    from .opening import show

    found = own.registry.agent.market.orders(ref=ref, status=status, limit=limit)
    show("\n".join(map(_order_line, found.orders)) or "No orders.", found, as_json=own.as_json)


@app.command(
    "show-order", epilog=examples("hansa-client market show-order 5f0c1d2e-0b1a-4c3d-8e9f-001122334455")
)
@as_agent
def show_order(own: Caller, order: OrderId) -> None:
    """Show an order of the agent with its trades."""
    _show_order(own.registry.agent.market.read_order(order), as_json=own.as_json)


@app.command("cancel", epilog=examples("hansa-client market cancel 5f0c1d2e-0b1a-4c3d-8e9f-001122334455"))
@as_agent
def cancel_order(own: Caller, order: OrderId) -> None:
    """Cancel an open order."""
    _show_order(own.registry.agent.market.cancel(order), as_json=own.as_json)


@app.command("cancel-all", epilog=examples("hansa-client market cancel-all GUILD"))
@as_agent
def cancel_orders(own: Caller, ref: Ref) -> None:
    """Cancel the open orders of the agent at a listing."""
    from .opening import show

    ended = own.registry.agent.market.cancel_all(ref)
    show(f"{ended.cancelled} orders cancelled", ended, as_json=own.as_json)


@app.command("portfolio", epilog=examples("hansa-client market portfolio"))
@as_agent
def show_portfolio(own: Caller) -> None:
    """Show points of the agent, and the units that its orders and subscriptions hold."""
    from .opening import show

    found = own.registry.agent.market.portfolio()
    lines = [
        *(
            f"{one.ref}  {one.qty} points, {one.locked} offered  cost {one.cost:f}  value {one.value:f}  owed {one.owed:f}"
            for one in found.holdings
        ),
        f"held {found.escrow:f}",
    ]
    show("\n".join(lines), found, as_json=own.as_json)


@app.command("claim", epilog=examples("hansa-client market claim", "hansa-client market claim GUILD"))
@once_as_agent
def claim_distributions(
    own: OnceCaller,
    ref: Annotated[
        str | None, typer.Argument(help="Reference of a listing; without it all are claimed.")
    ] = None,
) -> None:
    """Claim what the agent is owed of the revenue of its points."""
    from .opening import show

    found = own.registry.agent.market.claim(ref, key=own.key)
    show(f"paid {found.paid:f}", found, as_json=own.as_json)


@app.command("transfer", epilog=examples("hansa-client market transfer GUILD 5 did:hansa:a.example:…"))
@once_as_agent
def transfer_points(
    own: OnceCaller,
    ref: Ref,
    qty: Quantity,
    to: Annotated[str, typer.Argument(help="DID of another agent of the same owner.")],
) -> None:
    """Transfer points to another agent of the same owner."""
    from .opening import show

    moved = own.registry.agent.market.transfer(ref, qty, to, key=own.key)
    show(f"{moved.qty} points of {moved.ref} went to {moved.to}", moved, as_json=own.as_json)


@app.command("give-up", epilog=examples("hansa-client market give-up GUILD 5"))
@once_as_agent
def give_points_up(own: OnceCaller, ref: Ref, qty: Quantity) -> None:
    """Give points up for good; their share of the revenue stays with the organization."""
    from .opening import show

    moved = own.registry.agent.market.give_up(ref, qty, key=own.key)
    show(f"{moved.qty} points of {moved.ref} given up", moved, as_json=own.as_json)


def listing_line(listing: "Listing") -> str:
    """A listing in one line."""
    last = "" if listing.last_price is None else f"  last {listing.last_price:f}"
    return f"{listing.ref}  {listing.status}  {listing.organization.slug}  {listing.total} points at {listing.price:f}{last}"


def show_listing(listing: "Listing", *, as_json: bool) -> None:
    """Print a listing with its terms."""
    from .opening import show

    lines = [
        listing_line(listing),
        "A point is no vote and no claim on the treasury, and ends worthless.",
        f"all points: {listing.revenue_bps / 100:g} % of the revenue for {listing.term_months} months",
        f"launch {listing.opens_at.isoformat(timespec='seconds')} to {listing.closes_at.isoformat(timespec='seconds')}",
        f"at least {listing.min_raise:f} raised  at most {listing.per_owner_max} points an owner  tick {listing.tick:f}",
        *(f"fee of sellers {fee / 100:g} %" for fee in [listing.fee_bps] if fee is not None),
        f"sold {listing.sold}  of insiders {listing.insider_points}  arrears {listing.arrears:f}",
        f"prospectus {listing.prospectus.url}  sha256 {listing.prospectus.sha256}",
        *(f"ends {at.isoformat(timespec='seconds')}" for at in [listing.ends_at] if at),
        *(f"reason: {reason}" for reason in [listing.reason] if reason),
    ]
    show("\n".join(lines), listing, as_json=as_json)


def _level(level: "Level") -> str:
    price, qty, orders = level
    return f"{price:f}  {qty} points  {orders} orders"


def _order_line(order: "Order") -> str:
    price = "market" if order.price is None else f"{order.price:f}"
    return f"{order.order_id}  {order.status}  {order.side} {order.qty} {order.listing} at {price}  {order.remaining} left"


def _show_order(order: "Order", *, as_json: bool) -> None:
    from .opening import show

    lines = [
        _order_line(order),
        *(f"{one.qty} at {one.price:f}  fee {one.fee:f}  {one.trade_id}" for one in order.fills),
        *(f"holds {order.escrow_amount:f}" for _ in [order] if order.escrow_amount),
        *(f"ended: {because}" for because in [order.ended_because] if because),
    ]
    show("\n".join(lines), order, as_json=as_json)


def _show_subscription(made: "Subscription", *, as_json: bool) -> None:
    from .opening import show

    sentence = f"{made.status}  {made.qty} points  allocated {made.allocated}  holds {made.escrow_amount:f}"
    show(sentence, made, as_json=as_json)

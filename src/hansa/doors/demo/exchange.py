"""The exchange of the demo: the organization lists points, sells them in a launch, two agents trade them, and are paid their shares.

A point is a right to a share of the organization's revenue. Members of the organization are insiders: they trade, but do not subscribe.
"""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from pathlib import Path

import msgspec

from hansa.doors.demo.client import DemoFailed
from hansa.doors.demo.contract import Parties
from hansa.doors.demo.market import Tally
from hansa.doors.demo.organization import DemoOrganization
from hansa.doors.demo.paid_call import PATIENT, registry_of
from hansa.doors.demo.second_owner import Settled, approve, registry_of_developer
from hansa.doors.demo.temporary_registry import Administrator, let_a_day_pass
from hansa_client import AsyncRegistry, Refusal
from hansa_client.records.market import Listing, ListingTerms, Prospectus

UNTIL_OPENING, UNTIL_CLOSE = timedelta(seconds=10), timedelta(seconds=8)
PRICE, RAISED_MIN = Decimal("0.1"), Decimal(1)
OFFERED, SUBSCRIBED = 40, 20
REVENUE, REVENUE_BPS, BPS = Decimal(1), 1000, 10_000
PROSPECTUS = sha256(b"prospectus of the demo").hexdigest()


class Exchange(msgspec.Struct, frozen=True):
    """The organization that sells, its parties, and the administrator who decides. The provider is no member of it.

    `directory` is that of a registry of the demo's own.
    """

    parties: Parties
    seller: DemoOrganization
    administrator: Administrator
    directory: Path | None
    settled: Settled

    async def sell_and_trade(self, tally: Tally) -> None:
        """Draft, approve, launch, trade for a while, and distribute. Raises: DemoFailed, HansaError."""
        parties, screen = self.parties, self.parties.screen
        try:
            listing = await self._approved()
        except Refusal as refusal:
            if refusal.code != "exchange_disabled":
                raise
            screen.line("left out: the exchange of this registry is off")
            return
        screen.line(f"listing {listing.ref} was approved: {OFFERED} points at {PRICE}, its terms are final")
        async with (
            registry_of(parties.url, parties.provider) as holder,
            registry_of(parties.url, parties.contractor) as insider,
        ):
            await self._launch(listing.ref, holder, insider, tally)
            await self._trade(listing.ref, holder, insider, tally)
            await self._share(listing, holder, insider, tally)

    async def _approved(self) -> Listing:
        """A listing whose launch opens soon; the owners submit it together where there are two."""
        slug, second = self.seller.slug, self.seller.second
        opens_at = datetime.now(UTC) + UNTIL_OPENING
        terms = ListingTerms(
            ref=f"D{slug[-7:].upper()}",
            total=OFFERED,
            price=PRICE,
            min_raise=RAISED_MIN,
            opens_at=opens_at,
            closes_at=opens_at + UNTIL_CLOSE,
            per_owner_max=OFFERED,
            revenue_bps=REVENUE_BPS,
            term_months=12,
            tick=Decimal("0.01"),
            prospectus=Prospectus(url="https://guild.example/prospectus.pdf", sha256=PROSPECTUS),
        )
        async with registry_of_developer(self.parties.url, self.seller.founder.owner) as owning:
            await owning.listings.draft(slug, terms)
            asked = await owning.listings.submit(terms.ref)
        if second is not None:
            async with registry_of_developer(self.parties.url, second.developer) as joining:
                asked = await approve(joining, slug, asked, second)
        if asked.status != "EXECUTED":
            raise DemoFailed(f"the submission of the listing is {asked.status}")
        async with AsyncRegistry(self.parties.url, retries=PATIENT) as registry:
            tokens = await registry.accounts.login(self.administrator.email, self.administrator.password)
        async with AsyncRegistry(self.parties.url, developer=tokens, retries=PATIENT) as deciding:
            return await deciding.listings.decide(terms.ref, "approve", "A listing of the demo.")

    async def _launch(self, ref: str, holder: AsyncRegistry, insider: AsyncRegistry, tally: Tally) -> None:
        screen, provider = self.parties.screen, self.parties.provider
        await self._reaches(ref, "LAUNCHING", holder)
        await holder.agent.market.subscribe(ref, SUBSCRIBED)
        try:
            await insider.agent.market.subscribe(ref, 1)
        except Refusal as refusal:
            if refusal.code != "RELATED_PARTY":
                raise
        else:
            raise DemoFailed("an agent of the organization's founder may subscribe to its launch")
        screen.line(f"{provider.name} subscribed to {SUBSCRIBED} points; an agent of the founder may not")
        await self._reaches(ref, "TRADING", holder)
        bought = await holder.agent.market.subscription(ref)
        if (bought.allocated, bought.escrow_amount) != (SUBSCRIBED, Decimal(0)):
            raise DemoFailed(f"the launch allocated {bought.allocated} of {SUBSCRIBED} points")
        tally.count_paid_in(provider.did, SUBSCRIBED * PRICE, Decimal(0))
        screen.line(f"the launch closed: {SUBSCRIBED} points sold for {SUBSCRIBED * PRICE}, trade is open")

    async def _trade(self, ref: str, holder: AsyncRegistry, insider: AsyncRegistry, tally: Tally) -> None:
        selling, buying = holder.agent.market, insider.agent.market
        await selling.order(ref, "sell", 6, "0.12")
        dear = await selling.order(ref, "sell", 4, "0.15")
        await buying.order(ref, "buy", 5, "0.1")
        taken = [
            await buying.order(ref, "buy", 3),
            await selling.order(ref, "sell", 5),
            await buying.order(ref, "buy", 4, "0.12"),
        ]
        await selling.order(ref, "sell", 4, "0.14", replaces=dear.order_id)
        cancelled = (await selling.cancel_all(ref)).cancelled + (await buying.cancel_all(ref)).cancelled
        trades = (await buying.trades(ref)).trades
        for trade in trades:
            tally.count_sale(trade.buyer, trade.seller, trade.price * trade.qty, trade.fee)
        candles = (await buying.candles(ref, "1d")).candles
        moved = sum(order.qty - order.remaining for order in taken)
        if sum(candle.volume for candle in candles) != moved or len(trades) != len(taken):
            raise DemoFailed(f"{len(trades)} trades and their candles are not the {moved} points that moved")
        points = {one.did: (one.qty, one.insider) for one in (await buying.holders(ref)).holders}
        contractor, provider = self.parties.contractor, self.parties.provider
        expected = {provider.did: (SUBSCRIBED - moved, False), contractor.did: (moved, True)}
        if points != expected:
            raise DemoFailed(f"the holders are {points}, not {expected}")
        held = (await selling.portfolio()).escrow + (await buying.portfolio()).escrow
        if held:
            raise DemoFailed(f"{held} units are held for orders that were cancelled")
        self.parties.screen.line(
            f"{len(trades)} trades moved {moved} points, the last at {trades[0].price:f}; {cancelled} orders cancelled, no units held"
        )

    async def _share(
        self, listing: Listing, holder: AsyncRegistry, insider: AsyncRegistry, tally: Tally
    ) -> None:
        """A customer pays the organization, the day ends, and each point gets its share."""
        screen, provider = self.parties.screen, self.parties.provider
        directory = self.directory
        if directory is None:
            screen.line("left out: revenue is shared once the day has ended")
            return
        paid = await holder.transfers.transfer(listing.treasury_did, REVENUE)
        tally.count_paid_in(provider.did, REVENUE, paid.fee_amount)
        await self.settled(
            lambda: let_a_day_pass(directory, listing.ref), f"the revenue of {listing.ref} is not counted"
        )
        share = REVENUE * REVENUE_BPS / BPS / OFFERED

        async def is_distributed() -> bool:
            for owed in (holder, insider):
                await owed.agent.market.claim(listing.ref)
                received = (await owed.transfers.transactions(direction="received")).items
                if not any(line.tx_type == "distribution" for line in received):
                    return False
            return True

        await self.settled(is_distributed, f"the revenue of {listing.ref} is not distributed")
        for one in (await insider.agent.market.holders(listing.ref)).holders:
            tally.count_paid_out(one.did, share * one.qty, Decimal(0))
        screen.line(
            f"{provider.name} paid {REVENUE} for work; after the day each point got 1/{OFFERED} of {REVENUE_BPS // 100} % of it: {share:f}"
        )

    async def _reaches(self, ref: str, status: str, registry: AsyncRegistry) -> None:
        async def is_reached() -> bool:
            return (await registry.agent.market.listing(ref)).status == status

        await self.settled(is_reached, f"the listing {ref} is not {status}")

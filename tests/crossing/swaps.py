"""Histories of swaps: each registry has a currency of its own and shares a pool with each other one, in memory.

The prices and the changes of the pool are those of the service.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction

import pytest
from msgspec import structs
from msgspec.structs import replace

from hansa.foundation.values.money import ZERO, Minor
from hansa.rooms.transfers.crossing import receiver, sender
from hansa.rooms.transfers.crossing.messages import Body, Code, Message, MessageType, Swap
from hansa.rooms.transfers.crossing.receiver import Terms
from hansa.rooms.transfers.crossing.sender import SenderInputs
from hansa.rooms.transfers.crossing.states import Money, MoneyKind, ReceivedState
from hansa.rooms.transfers.pools import pricing, swapping
from hansa.rooms.transfers.pools.pricing import Price, Reserve, SwapImpossible, View
from hansa.rooms.transfers.pools.records import Pool
from hansa.rooms.transfers.pools.swapping import Amounts, Change, SwapStep

from .exploration import Budget, World, founded, quiet
from .model import Registry, Toward, require
from .simulation import HEALED, UNITS, History

RESERVE = 20_000


class SwappingRegistry(Registry):
    """A registry whose every transfer to a peer is a swap. The pool with a peer has its home at the first by name."""

    def open_pools(self) -> None:
        """Half of the units for each pool stay in its leg."""
        for peer, kept in self.toward.items():
            pool = Pool.new(
                peer, peer, peer.upper(), is_home=self.name < peer, mode="pool", rate=None, proposed=ZERO
            )
            kept.pool = replace(pool, reserve_own=Minor(RESERVE), reserve_foreign=Minor(RESERVE))
            self.units -= RESERVE

    def held(self) -> int:
        return super().held() + sum(pool_of(kept).reserve_own for kept in self.toward.values())

    def send(self, peer: str, body: Body, deadline: float, expected_fee: int | None = None) -> list[Message]:
        kept = self.toward[peer]
        if not kept.pair.is_open or body.amount > self.units:
            return []
        view = pool_of(kept).view(gives_own=True)
        try:
            price = pricing.price_in(view, body.amount)
            # Some payers accept nothing worse than what they see.
            seen = price.amount_out if body.amount % 3 == 0 else 1
            least = max(seen, pricing.least_output(view, body.amount, Fraction(1, 5)))
        except SwapImpossible:
            return []
        fixed = price.amount_out if pool_of(kept).is_home else None
        if price.amount_out < least:
            return []
        swapped = structs.replace(body, currency=self.name.upper(), swap=Swap(peer.upper(), least, fixed))
        return self._apply(kept, sender.reserve(swapped, price.fee, deadline))

    def _terms(self, kept: Toward, message: Message) -> Terms:
        terms = super()._terms(kept, message)
        body = message.body
        assert body is not None
        assert body.swap is not None
        if message.type is not MessageType.PREPARE:
            pool, known = pool_of(kept), kept.received.get(body.transfer_id)
            reserved = known.net if known is not None and known.state is ReceivedState.PREPARED else 0
            covered = pool.own.lowest + reserved >= (message.net or 0)
            if known is not None and receiver.is_given_up(known):
                price = Price(Minor(body.amount), Minor(message.net or 0), Minor(message.fee or 0))
                covered = covered and pricing.keeps_k(pool.view(gives_own=False), price)
            return structs.replace(
                terms, net=message.net or 0, fee=message.fee or 0, headroom=2**63 if covered else 0
            )
        try:
            price = self._price(pool_of(kept), body, message)
        except SwapImpossible as impossible:
            return structs.replace(terms, code=terms.code or impossible.code)
        return structs.replace(terms, net=price.amount_out, fee=price.fee, headroom=2**63)

    def _price(self, pool: Pool, body: Body, message: Message) -> Price:
        view = pool.view(gives_own=False)
        assert body.swap is not None
        if body.swap.amount_out is None:
            price = pricing.price_in(view, body.amount)
        else:
            price = Price(Minor(body.amount), Minor(body.swap.amount_out), Minor(message.fee or 0))
            if not pricing.keeps_k(view, price) or pool.own.lowest < price.amount_out:
                raise SwapImpossible(pricing.SwapCode.HOME_DIFFERS)
        if price.amount_out < body.swap.min_amount_out:
            raise SwapImpossible(pricing.SwapCode.BELOW_MINIMUM)
        return price

    def _judgement(self, kept: Toward, body: Body, message: Message | None = None) -> SenderInputs:
        sender_inputs = super()._judgement(kept, body, message)
        if message is None or message.type is not MessageType.PREPARED or sender_inputs.code is not None:
            return sender_inputs
        price = Price(Minor(body.amount), Minor(message.net or 0), ZERO)
        accepted = pricing.keeps_k(pool_of(kept).view(gives_own=True), price)
        return sender_inputs if accepted else structs.replace(sender_inputs, code=Code.POOL_DIFFERS)

    def _move(self, kept: Toward, money: Money) -> None:
        swap = money.body.swap
        assert swap is not None
        received = money.net or swap.amount_out or 0
        amounts = Amounts(money.body.amount, received, money.fee, swap.amount_out is not None)
        change = swapping.change_by(SwapStep(money.kind.value), amounts)
        kept.pool = _changed(pool_of(kept), change)
        amount = money.body.amount
        match money.kind:
            case MoneyKind.RESERVE_OUT:
                self.units, kept.transit = self.units - amount, kept.transit + amount
            case MoneyKind.ABORT_OUT:
                self.units, kept.transit = self.units + amount, kept.transit - amount
            case MoneyKind.COMMIT_OUT:
                kept.transit -= amount
            case MoneyKind.REPLAY_OUT:
                self.units -= amount
            case MoneyKind.SHORTFALL_OUT:
                self.shortfalls -= amount
            case MoneyKind.COMMIT_IN | MoneyKind.REPLAY_IN:
                require(money.net >= swap.min_amount_out, "less than the least output", money)
                self.units += money.net
            case MoneyKind.RESERVE_IN | MoneyKind.ABORT_IN:
                pass
        kept.moved += ((money.kind.value, money.body.transfer_id),)
        pool = pool_of(kept)
        require(min(self.units, self.shortfalls, kept.transit) >= 0, "a balance below zero", money)
        require(pool.own.lowest >= 0, "promised more than the reserve", money)
        in_transit = sum(one.transit for one in self.toward.values())
        require(self.held() + in_transit == self.issued, "the book does not add up", money)
        if not self.was_restored:
            self._require_once(kept, money)


def pool_of(kept: Toward) -> Pool:
    assert kept.pool is not None
    return kept.pool


def _changed(pool: Pool, change: Change) -> Pool:
    own, foreign, in_own, out_own, in_foreign, out_foreign = change.deltas
    return replace(
        pool,
        reserve_own=Minor(pool.reserve_own + own),
        reserve_foreign=Minor(pool.reserve_foreign + foreign),
        in_own=Minor(pool.in_own + in_own),
        out_own=Minor(pool.out_own + out_own),
        in_foreign=Minor(pool.in_foreign + in_foreign),
        out_foreign=Minor(pool.out_foreign + out_foreign),
    )


class SwapHistory(History):
    """A history whose transfers are swaps, between honest registries."""

    may_be_attacked = False

    def registry(self, name: str, limit: int, blocked: frozenset[str]) -> Registry:
        return SwappingRegistry(name, 3 * UNITS, limit, UNITS, blocked)

    def begin(self) -> None:
        for one in self.honest.values():
            assert isinstance(one, SwappingRegistry)
            one.open_pools()

    def run(self) -> "History":
        super().run()
        require_pools_agree(self.honest)
        return self


class EndedPoolHistory(SwapHistory):
    """A history in which a peer is abandoned at any moment, in a copy of the registry that goes no further: without its pool."""

    def begin(self) -> None:
        self.given_back = 0
        super().begin()

    def run(self) -> "EndedPoolHistory":
        super().run()
        return self

    def _plan(self, names: list[str]) -> None:
        super()._plan(names)
        for _ in range(5):
            self._at(self.rng.uniform(0, HEALED), self._abandon_copies)

    def _abandon_copies(self) -> None:
        for name, one in self.honest.items():
            for peer in one.toward:
                was_busy, ended = pool_of(one.toward[peer]).is_busy, one.copy()
                ended.abandon(peer)
                pool = pool_of(ended.toward[peer])
                # A pool that is busy is not closed, so that its peer could not be removed.
                require(not pool.is_busy, "something is pending with a peer that is gone", name, pool)
                self.given_back += was_busy


def require_pools_agree(registries: Mapping[str, Registry]) -> None:
    """Once nothing is under way: both sides of a pool have the same reserves, nothing is pending, and k did not fall."""
    restored = any(one.was_restored for one in registries.values())
    for name, one in registries.items():
        for peer, kept in one.toward.items():
            pool, other = pool_of(kept), pool_of(registries[peer].toward[name])
            pending = (pool.in_own, pool.out_own, pool.in_foreign, pool.out_foreign)
            require(pending == (0, 0, 0, 0) or restored, "something is pending for ever", pool)
            alike = (pool.reserve_own, pool.reserve_foreign) == (other.reserve_foreign, other.reserve_own)
            require(alike, "the registries do not agree on the reserves", pool, other)
            k = pool.reserve_own * pool.reserve_foreign
            require(k >= RESERVE**2 or restored, "k fell", pool)


def small_world(transfers: tuple[tuple[str, str], ...], budget: Budget) -> World:
    """Two registries that share a pool, before these swaps."""
    world = founded(
        transfers,
        budget,
        registry=lambda name: SwappingRegistry(name, 3 * RESERVE, 0, RESERVE),
        amount=6 * RESERVE // 100,
    )
    for one in world.registries.values():
        assert isinstance(one, SwappingRegistry)
        one.open_pools()
    return world


def quiet_pools(world: World) -> None:
    """Check the rules of a history after which nothing follows. Raises: Broken."""
    quiet(world)
    require_pools_agree(world.registries)


Plant = Callable[[pytest.MonkeyPatch], None]


def priced_as_if_nothing_were_pending(patch: pytest.MonkeyPatch) -> None:
    """The 50 pieces of the trial: each priced at the settled reserves."""
    right = pricing.price_in
    patch.setattr(
        pricing,
        "price_in",
        lambda view, amount: right(
            View(Reserve(view.given.settled), Reserve(view.taken.settled), view.rate), amount
        ),
    )
    patch.setattr(pricing, "keeps_k", lambda _view, _price: True)


def output_stays_in_the_reserve(patch: pytest.MonkeyPatch) -> None:
    """A commit does not take what was paid out of the figure of the other reserve."""
    right = swapping.change_by

    def change_by(step: SwapStep, swap: Amounts) -> Change:
        change = right(step, swap)
        return replace(change, reserve_foreign=0) if step is SwapStep.COMMIT_OUT else change

    patch.setattr(swapping, "change_by", change_by)


def abort_keeps_what_was_pending(patch: pytest.MonkeyPatch) -> None:
    """An aborted swap goes on to bind the reserve."""
    right = swapping.change_by
    patch.setattr(
        swapping,
        "change_by",
        lambda step, swap: Change() if step is SwapStep.ABORT_IN else right(step, swap),
    )


def sender_takes_any_price(patch: pytest.MonkeyPatch) -> None:
    """The receiver's registry and the sender's forget the least output."""
    patch.setattr(sender, "_why_not_swapped", lambda _swap, _message: None)
    patch.setattr(SwappingRegistry, "_price", _price_without_minimum)


def _price_without_minimum(_registry: SwappingRegistry, pool: Pool, body: Body, message: Message) -> Price:
    assert body.swap is not None
    if body.swap.amount_out is None:
        return pricing.price_in(pool.view(gives_own=False), body.amount)
    return Price(Minor(body.amount), Minor(body.swap.amount_out), Minor(message.fee or 0))


PLANTED: tuple[Plant, ...] = (
    priced_as_if_nothing_were_pending,
    output_stays_in_the_reserve,
    abort_keeps_what_was_pending,
    sender_takes_any_price,
)

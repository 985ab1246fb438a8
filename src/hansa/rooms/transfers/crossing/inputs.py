"""Facts that this registry finds before it prepares or decides: read once for all messages of a request with the same question."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import share
from hansa.rooms import agents, catalogue, federation, ledger
from hansa.rooms.transfers import pools

from . import received_store, sent_store
from .corridor import Corridor
from .messages import Body, Code, Message, MessageType
from .money_orders import abort_in, reserve_in, reserve_out
from .pair_chain import Pair
from .receiver import Terms, is_given_up, needs_promise
from .sender import SenderInputs
from .states import Money, Received, ReceivedState, Sent, SentState
from .swapped import pool_at_work, step_of_swap

TOMBSTONES_MAX = 100_000
BLOCKED = Code.AGENT_BLOCKED
NO_TERMS = Terms(0, 0, 0)
UNLIMITED = 2**63


class Tombstones(msgspec.Struct):
    """Number of transfers of the peer that were ended before they began here, in one table; read at first use."""

    count: Callable[[Tx, str, int], Awaitable[int]]
    new: int = 0
    _kept: int | None = None

    async def are_full(self, tx: Tx, peer: str) -> bool:
        """Return whether no more are recorded for this peer."""
        if self._kept is None:
            self._kept = await self.count(tx, peer, TOMBSTONES_MAX)
        return self._kept + self.new >= TOMBSTONES_MAX


class InputReader(msgspec.Struct):
    """The findings of one request. Every refusal is a code; None lets the transfer go on."""

    tx: Tx
    corridor: Corridor
    closed: str | None = None
    """Why nothing new crosses to or from the peer."""
    blocked: frozenset[str] = frozenset()
    refused: Mapping[str, str | None] = msgspec.field(default_factory=dict)
    """Of the new transfers that are to be prepared, by id: why the ledger refuses them."""
    pool: pools.PoolAtWork | None = None
    """Locked, where one of the messages is about a swap and there is a pool."""
    has_doubt: bool = False
    sent_tombstones: Tombstones = msgspec.field(default_factory=lambda: Tombstones(sent_store.tombstones))
    received_tombstones: Tombstones = msgspec.field(
        default_factory=lambda: Tombstones(received_store.tombstones)
    )

    @classmethod
    async def of(
        cls, tx: Tx, corridor: Corridor, messages: Sequence[Message], known: Mapping[str, object]
    ) -> "InputReader":
        """Read the facts for these messages; `known` has the transfers that are prepared already, or refused."""
        reader = cls(tx, corridor)
        new: dict[str, Body] = {}
        for one in messages:
            if one.type is MessageType.PREPARE and one.body is not None and one.body.transfer_id not in known:
                new.setdefault(one.body.transfer_id, one.body)
        deciding = [one.body for one in messages if one.type is MessageType.PREPARED and one.body is not None]
        if new or deciding:
            reader.closed = await _why_closed(tx, corridor)
            payees = {body.receiver_did for body in new.values()}
            reader.blocked = await _blocked(tx, {body.sender_did for body in deciding}, payees)
            reader.blocked |= await withheld_abroad(tx, {body.receiver_did for body in deciding})
        if any(one.body is not None and one.body.swap is not None for one in messages):
            reader.pool = await pool_at_work(tx, corridor)
        if new:
            reader.has_doubt = await sent_store.has_doubt(tx, corridor.key)
            reader.refused = await _refused_by_ledger(tx, corridor, list(new.values()))
        return reader

    async def sender_inputs(self, pair: Pair, sent: Sent | None, message: Message) -> SenderInputs:
        """Before this registry decides; the payer is judged a last time before COMMIT."""
        body = message.body
        assert body is not None
        code, has_units, is_shortfall = None, True, False
        if message.type is MessageType.PREPARED:
            code = self._why_not_committed(body) or self._why_not_swapped(message)
        is_replay = sent is None or sent.state is not SentState.COMMITTED
        if message.type is MessageType.RECEIPT and message.proof is not None and is_replay:
            has_units = await self._covers(body, body.sender_did)
            if not has_units:
                has_units = is_shortfall = await self._covers(body, self.corridor.book.shortfall)
        is_named_first = sent is None and message.type in (MessageType.PREPARED, MessageType.QUERY)
        full = is_named_first and await self.sent_tombstones.are_full(self.tx, self.corridor.key)
        return SenderInputs(code, pair.may_decide, has_units, is_shortfall, full)

    async def terms(self, pair: Pair, received: Received | None, message: Message) -> Terms:
        """Before this registry prepares; a known transfer needs nothing but its row, unless it has no promise any more."""
        body = message.body
        assert body is not None
        is_known = received is not None
        if is_known and message.type is not MessageType.COMMIT:
            return NO_TERMS
        net, fee = message.net or 0, message.fee or 0
        code, headroom, full = None, UNLIMITED, False
        if message.type is MessageType.PREPARE:
            code = self._why_not_prepared(pair, body)
        if body.swap is None:
            fee = share(body.amount, federation.BORDER_FEE)
            net = body.amount - fee
        elif message.type is MessageType.PREPARE and code is None:
            net, fee, code = self._price(message)
        is_replay = message.type is MessageType.COMMIT and needs_promise(received, message)
        if is_replay and not await self._has_room(received, message):
            headroom = 0
        if not is_known and (code is not None or message.type is MessageType.ABORT):
            full = await self.received_tombstones.are_full(self.tx, self.corridor.key)
        return Terms(net, fee, headroom, code, full)

    def _price(self, message: Message) -> tuple[int, int, str | None]:
        """Return the amount that the receiver of a swap gets, the fee, and why the swap is refused."""
        body = message.body
        assert body is not None
        assert body.swap is not None
        swap = body.swap
        if self.pool is None:
            return 0, 0, pools.PoolUnknown.code
        fixed = None if swap.amount_out is None else (swap.amount_out, message.fee or 0)
        try:
            price = self.pool.price_received(body.amount, swap.min_amount_out, fixed)
        except pools.SwapImpossible as impossible:
            return 0, 0, impossible.code.value
        return price.amount_out, price.fee, None

    def _why_not_swapped(self, message: Message) -> str | None:
        """Return why the amount promised by the receiver's registry is refused: it must lower no product of the reserves here."""
        body = message.body
        assert body is not None
        if body.swap is None:
            return None
        accepted = self.pool is not None and self.pool.accepts(body.amount, message.net or 0)
        return None if accepted else Code.POOL_DIFFERS

    def move(self, money: Sequence[Money]) -> None:
        """The next message of the request is priced with these steps done."""
        for one in money:
            if one.body.swap is not None and self.pool is not None:
                self.pool.move(*step_of_swap(one))

    def _why_not_prepared(self, pair: Pair, body: Body) -> str | None:
        if self.closed is not None:
            return self.closed
        if not pair.is_open or self.has_doubt:
            return Code.PEER_REWOUND
        own = self.corridor.book.currency
        expected = (own, None) if body.swap is None else (self.corridor.peer.settlement_currency, own)
        if (body.currency, body.swap and body.swap.currency_received) != expected:
            return Code.CURRENCY_DIFFERS
        if body.receiver_did in self.blocked:
            return BLOCKED
        return self.refused[body.transfer_id]

    def _why_not_committed(self, body: Body) -> str | None:
        """Suspension and licences. A peer that was paused meanwhile ends nothing that is under way."""
        if not self.blocked.isdisjoint((body.sender_did, body.receiver_did)):
            return BLOCKED
        return None if self.closed == federation.PeerPaused.code else self.closed

    async def _covers(self, body: Body, payer: str) -> bool:
        order = reserve_out(self.corridor, body, payer, is_again=True).order(self.corridor.book)
        return await refusal_codes(self.tx, self.corridor, [order]) == [None]

    async def _has_room(self, received: Received | None, message: Message) -> bool:
        body, net = message.body, message.net or 0
        assert body is not None
        promised = received if received is not None and received.state is ReceivedState.PREPARED else None
        if body.swap is not None:
            reserved = 0 if promised is None else promised.net
            if self.pool is None or not self.pool.covers(net - reserved):
                return False
            if received is not None and is_given_up(received) and not self.pool.pays(body.amount, net):
                return False
        orders = [] if promised is None else [abort_in(self.corridor, body).order(self.corridor.book)]
        again = reserve_in(self.corridor, body, message.fee or 0, net, is_again=True)
        orders.append(again.order(self.corridor.book))
        return (await refusal_codes(self.tx, self.corridor, orders))[-1] is None


async def refusal_codes(tx: Tx, corridor: Corridor, orders: Sequence[ledger.Order]) -> list[str | None]:
    """Why the ledger would refuse each of these orders after the ones before it, as the code of a signed refusal."""
    return [
        None if refusal is None else _code_of(refusal)
        for refusal in await ledger.refusals_of(tx, orders, corridor.book)
    ]


def _code_of(refusal: Refused) -> str:
    match refusal:
        case ledger.AccountSuspended():
            return BLOCKED
        case ledger.SystemAccountRefused():
            return Code.ACCOUNT_UNKNOWN
        case _:
            return refusal.code


async def _refused_by_ledger(tx: Tx, corridor: Corridor, bodies: Sequence[Body]) -> dict[str, str | None]:
    orders = [
        # Of a swap the price is not known yet; what its receiver may get does not depend on it.
        reserve_in(corridor, body, share(body.amount, federation.BORDER_FEE), net=1).order(corridor.book)
        for body in bodies
    ]
    codes = await refusal_codes(tx, corridor, orders)
    return {body.transfer_id: code for body, code in zip(bodies, codes, strict=True)}


async def _why_closed(tx: Tx, corridor: Corridor) -> str | None:
    try:
        await federation.require_may_cross(tx, corridor.settings, corridor.peer)
    except Refused as refusal:
        return refusal.code
    return None


async def is_withheld_abroad(tx: Tx, did: str) -> bool:
    """Return whether the home of an agent of another registry suspended or revoked it, as far as that is known here."""
    return bool(await withheld_abroad(tx, {did}))


async def withheld_abroad(tx: Tx, dids: set[str]) -> frozenset[str]:
    """Those agents of other registries whose mirrors are suspended or revoked, or that are on the blocklist."""
    if not dids:
        return frozenset()
    statuses = await catalogue.mirrored_statuses(tx, list(dids))
    ended = {did for did, status in statuses.items() if status != "active"}
    return await federation.blocklisted_among(tx, dids) | ended


async def _blocked(tx: Tx, payers: set[str], payees: set[str]) -> frozenset[str]:
    """Those of them that may not pay or be paid: on the blocklist, or a suspended payer."""
    listed = await federation.blocklisted_among(tx, payers | payees)
    statuses = await agents.statuses_of(tx, list(payers)) if payers else {}
    return listed | {did for did, status in statuses.items() if status == "suspended"}

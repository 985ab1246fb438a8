"""What this registry finds before it prepares or decides: read once for all messages of a request that ask the same."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hansa.foundation.plumbing.database import Tx
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import Minor, share
from hansa.rooms import agents, federation, ledger

from . import store
from .corridor import Corridor
from .messages import Body, Code, Message, MessageType
from .money_orders import reserve_in, reserve_out
from .pair_chain import Pair
from .receiver import Terms
from .sender import Judgement
from .states import Sent, SentState

TOMBSTONES_MAX = 100_000
BLOCKED = Code.AGENT_BLOCKED
NO_TERMS = Terms(0, 0, 0)
UNLIMITED = 2**63


@dataclass
class Judge:
    """The findings of one request. Every refusal is a code; None lets the transfer go on."""

    tx: Tx
    corridor: Corridor
    closed: str | None = None
    """Why nothing new crosses to or from the peer."""
    blocked: frozenset[str] = frozenset()
    refused: Mapping[str, str | None] = field(default_factory=dict)
    """Of the new transfers that are to be prepared, by id: why the ledger refuses them."""
    has_doubt: bool = False
    new_tombstones: int = 0
    _kept_tombstones: int | None = None

    @classmethod
    async def of(
        cls, tx: Tx, corridor: Corridor, messages: Sequence[Message], known: Mapping[str, object]
    ) -> "Judge":
        """Read what these messages ask; `known` has the transfers that are prepared already, or refused."""
        judge = cls(tx, corridor)
        new: dict[str, Body] = {}
        for one in messages:
            if one.type is MessageType.PREPARE and one.body is not None and one.body.transfer_id not in known:
                new.setdefault(one.body.transfer_id, one.body)
        payers = {
            one.body.sender_did
            for one in messages
            if one.type is MessageType.PREPARED and one.body is not None
        }
        if new or payers:
            judge.closed = await _why_closed(tx, corridor)
            judge.blocked = await _blocked(tx, payers, {body.receiver_did for body in new.values()})
        if new:
            judge.has_doubt = await store.has_doubt(tx, corridor.key)
            judge.refused = await _refused_by_ledger(tx, corridor, list(new.values()))
        return judge

    async def judgement(self, pair: Pair, sent: Sent | None, message: Message) -> Judgement:
        """Before this registry decides; the payer is judged a last time before COMMIT."""
        body = message.body
        assert body is not None
        code, has_units = None, True
        if message.type is MessageType.PREPARED:
            code = self._why_not_committed(body.sender_did)
        is_replay = sent is None or sent.state is not SentState.COMMITTED
        if message.type is MessageType.RECEIPT and message.proof is not None and is_replay:
            order = reserve_out(self.corridor, body).order(self.corridor.book)
            has_units = await refusal_codes(self.tx, self.corridor, [order]) == [None]
        return Judgement(code, pair.may_decide, has_units)

    async def terms(self, pair: Pair, message: Message, *, is_known: bool) -> Terms:
        """Before this registry prepares; a known transfer needs nothing but its row."""
        body = message.body
        assert body is not None
        if is_known and message.type is not MessageType.COMMIT:
            return NO_TERMS
        fee = share(body.amount, federation.BORDER_FEE)
        code, headroom, full = None, UNLIMITED, False
        if message.type is MessageType.PREPARE:
            code = self._why_not_prepared(pair, body)
        if message.type is MessageType.COMMIT and not is_known and not await self._has_room(message):
            headroom = 0
        if not is_known and (code is not None or message.type is MessageType.ABORT):
            full = await self._tombstones() >= TOMBSTONES_MAX
        return Terms(body.amount - fee, fee, headroom, code, full)

    def _why_not_prepared(self, pair: Pair, body: Body) -> str | None:
        if self.closed is not None:
            return self.closed
        if not pair.is_open or self.has_doubt:
            return Code.PEER_REWOUND
        if body.currency != self.corridor.book.currency:
            return Code.CURRENCY_DIFFERS
        if body.receiver_did in self.blocked:
            return BLOCKED
        return self.refused[body.transfer_id]

    def _why_not_committed(self, payer: str) -> str | None:
        """Suspension and licences. A peer that was paused meanwhile ends nothing that is under way."""
        if payer in self.blocked:
            return BLOCKED
        return None if self.closed == federation.PeerPaused.code else self.closed

    async def _has_room(self, message: Message) -> bool:
        assert message.body is not None
        order = reserve_in(self.corridor, message.body, message.fee or 0).order(self.corridor.book)
        return await refusal_codes(self.tx, self.corridor, [order]) == [None]

    async def _tombstones(self) -> int:
        if self._kept_tombstones is None:
            self._kept_tombstones = await store.tombstones(self.tx, self.corridor.key, TOMBSTONES_MAX)
        return self._kept_tombstones + self.new_tombstones


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
        reserve_in(corridor, body, share(Minor(body.amount), federation.BORDER_FEE)).order(corridor.book)
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


async def _blocked(tx: Tx, payers: set[str], payees: set[str]) -> frozenset[str]:
    """Those of them that may not pay or be paid: on the blocklist, or a suspended payer."""
    listed = await federation.blocklisted_among(tx, payers | payees)
    statuses = await agents.statuses_of(tx, list(payers)) if payers else {}
    return listed | {did for did, status in statuses.items() if status == "suspended"}

"""Every kind of order, single and batched, against the model; and faults planted in the engine, each of them found."""

import json
import random
from collections.abc import AsyncIterator, Iterable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from hansa.foundation.plumbing.storage.sql_files import read_sql_files
from hansa.rooms import ledger
from tests.properties.engine_faults import FAULTS
from tests.properties.engine_model import Model
from tests.properties.engine_oracles import ESCROW, LIQUID, STAKED, TRANSIT, Account
from tests.properties.scale import by_tier, printed_seed
from tests.registry import DatabaseFarm

HISTORIES = by_tier(150, 20_000, 100_000)
# Enough histories to find each planted fault.
PLANTED_HISTORIES = 2_000
ACTS = 8
FRAME, UNIT = "hansa.local", "AVT"
COLLECTOR, TREASURY, PEER = (f"did:hansa:system:{name}" for name in ("fee_collector", "treasury", "peer"))
AGENTS = [f"did:hansa:hansa.local:party-{number}" for number in range(4)]
STRANGER = "did:hansa:hansa.local:stranger"
NO_HOLD = 2**40
# Places of the kinds of orders.
TRANSFER, HOLD, CAPTURE, FREE, SLASH = 0, 9, 10, 11, 12
[ENGINE] = [file.content for file in read_sql_files() if file.name == "ledger/apply.sql"]
APPLY = "SELECT * FROM ledger_apply($1, $2, $3, $4, $5, $6, false)"

_AGE = """
UPDATE ledger_account SET pace = coalesce((
  SELECT array_agg(CASE WHEN place % 3 = 1 THEN number - $1 ELSE number END ORDER BY place)
  FROM unnest(pace) WITH ORDINALITY AS p (number, place)), '{}')
"""


class History:
    """One life of a book, in one transaction that is undone at its end."""

    def __init__(self, connection: "asyncpg.Connection[asyncpg.Record]", chance: random.Random) -> None:
        self.database, self.chance = connection, chance
        self.model = Model(COLLECTOR)
        self.given: list[Any] = []
        # The ids of the holds, in the order in which the model numbers them from 1.
        self.hold_ids: list[int] = []
        # With few kinds of orders and few parties they meet more often.
        self.kinds = [
            TRANSFER,
            HOLD,
            CAPTURE,
            FREE,
            SLASH,
            *chance.sample(range(TRANSFER + 1, HOLD), chance.choice([0, 2, 8])),
        ]
        if chance.random() < 0.3:
            self.kinds = chance.sample(self.kinds, 3)
        self.parties = chance.choice([[*AGENTS, STRANGER], AGENTS[:2]])

    async def live(self) -> None:
        transaction = self.database.transaction()
        await transaction.start()
        try:
            await self._open()
            for _ in range(ACTS):
                await self._act()
            await self._compare()
        finally:
            await transaction.rollback()

    async def _open(self) -> None:
        holdings = {did: self.chance.choice([0, 100, 10**6, 10**10]) for did in AGENTS}
        holdings |= {COLLECTOR: 0, TREASURY: 10**9, PEER: 0}
        self.model.accounts = {did: Account(held) for did, held in holdings.items()}
        await self.database.executemany(
            "INSERT INTO ledger_account (did, kind, liquid) VALUES ($1, $2, $3)",
            [(did, "agent" if did in AGENTS else "system", held) for did, held in holdings.items()],
        )

    async def _act(self) -> None:
        kind = self.chance.random()
        if kind < 0.1:
            await self._elapse(self.chance.choice([10, 59, 60, 200]))
        elif kind < 0.17:
            did = self.chance.choice(AGENTS)
            is_active = not self.model.accounts[did].is_active
            self.model.accounts[did].is_active = is_active
            status = "active" if is_active else "suspended"
            await self.database.execute("UPDATE ledger_account SET status = $2 WHERE did = $1", did, status)
        elif kind < 0.24 and self.model.holds:
            await self._freeze_or_thaw(self.chance.randrange(len(self.model.holds)))
        else:
            await self._order(self.chance.choice([1, 1, 2, 5]))

    async def _elapse(self, minutes: int) -> None:
        self.model.minute += minutes
        await self.database.execute(_AGE, minutes)
        await self.database.execute(
            "UPDATE ledger_hold SET expires_at = expires_at - make_interval(mins => $1) WHERE frozen_at IS NULL",
            minutes,
        )
        for hold in self.model.holds:
            if hold.is_frozen and hold.expires is not None:
                hold.expires += minutes

    async def _freeze_or_thaw(self, place: int) -> None:
        hold = self.model.holds[place]
        is_due = hold.expires is not None and hold.expires <= self.model.minute and not hold.is_frozen
        use_case = ledger.thaw_hold if hold.is_frozen else ledger.freeze_hold
        if hold.left and not is_due:
            hold.is_frozen = not hold.is_frozen
            await use_case(self.database, self.hold_ids[place], "dispute")

    async def _order(self, units: int) -> None:
        """Some orders or groups of orders in one batch; a batch that was lost with its transaction is given again."""
        batch = [self._unit(number) for number in range(units)]
        scopes = [unit[0].get("scope") for unit in batch if unit[0].get("scope")]
        if len({*scopes}) < len(scopes):
            return
        lines = [self._line(order) for unit in batch for order in unit]
        self.given.append(lines)
        if self.chance.random() < 0.1:
            lost = self.database.transaction()
            await lost.start()
            await self._apply(lines)
            await lost.rollback()
        rows = await self._apply(lines)
        self.hold_ids += [row["hold_id"] for row in rows if row["hold_id"]]
        expected = [outcome for unit in batch for outcome in self.model.run(unit)]
        assert [row["outcome"] for row in rows] == expected, self.given

    async def _apply(self, lines: list[dict[str, Any]]) -> list[asyncpg.Record]:
        policy = ledger.FeePolicy().as_integers()
        return await self.database.fetch(APPLY, FRAME, UNIT, COLLECTOR, policy, json.dumps(lines), 24)

    def _line(self, order: dict[str, Any]) -> dict[str, Any]:
        """The order as the engine reads it, with the ids of holds and times of expiry that it has."""
        line = {name: value for name, value in order.items() if name != "expires"}
        more = dict(order["more"] or {})
        for act in {"capture", "release"} & set(more):
            place = more[act]["id"] - 1
            more[act] = {**more[act], "id": self.hold_ids[place] if place < len(self.hold_ids) else NO_HOLD}
        if "hold" in more and order["expires"] is not None:
            # Model times are whole minutes: half a minute off, no test is too slow for them.
            end = datetime.now(UTC) + timedelta(minutes=order["expires"] - self.model.minute, seconds=-30)
            more["hold"] = {**more["hold"], "expires_at": end.isoformat()}
        return {"barred": False, **line, "more": more or None}

    def _unit(self, number: int) -> list[dict[str, Any]]:
        size = self.chance.choice([1, 1, 1, 1, 2, 3])
        unit = [self._one() for _ in range(size)]
        if size > 1:
            for order in unit:
                order["more"] = {
                    **(order["more"] or {"fee": "on_top", "paced": "sent", "typed": True}),
                    "group": number,
                }
        if self.chance.random() < 0.3:
            unit[0]["scope"] = sha256(b"%d" % self.chance.randrange(4)).hexdigest()
            unit[0]["digest"] = sha256(json.dumps(unit, sort_keys=True).encode()).hexdigest()
            if self.chance.random() < 0.6:
                unit[0]["digest"] = sha256(b"same").hexdigest()
        return unit

    def _one(self) -> dict[str, Any]:
        payer, payee = self.chance.sample(self.parties, 2)
        amount = self.chance.choice([1, 99, 100, 101, 300, 12_345, 10**6, 10**9])
        if self.chance.random() < 0.5 and payer in self.model.accounts:
            share = self.chance.choice([1, 30, 60, 95])
            amount = max(1, self.model.accounts[payer].funds[LIQUID] * share // 100)
        hold = self.chance.choice([*range(1, len(self.model.holds) + 1), NO_HOLD])
        part = self.model.holds[hold - 1].amount if hold <= len(self.model.holds) else 10
        taken = self.chance.choice([part, part + 1, max(1, part // 2), max(1, part // 3)])
        held_for = {"owner_kind": "test", "owner_id": "1", "payee": self.chance.choice(AGENTS)}
        expires = self.chance.choice([None, self.model.minute + 30, self.model.minute + 100])
        fixed = {"fixed_fee": self.chance.randrange(3)} if self.chance.random() < 0.2 else {}
        both = {"debit": payer, "credit": payer}
        makers: list[dict[str, Any]] = [
            {"debit": payer, "credit": payee, "amount": amount, "more": None},
            {"debit": TREASURY, "credit": payee, "amount": amount, "more": {"tx_type": "grant", "active": 0}},
            {
                "debit": None,
                "credit": TREASURY,
                "amount": amount,
                "more": {"tx_type": "issue", "active": 0, "ref": f"{self.chance.random()}"},
            },
            {
                "debit": TREASURY,
                "credit": None,
                "amount": amount,
                "more": {"tx_type": "destroy", "active": 0, "ref": f"{self.chance.random()}"},
            },
            {
                **both,
                "amount": amount,
                "more": {"tx_type": "stake", "to": STAKED, "active": 1, "paced": "held"},
            },
            {**both, "amount": amount, "more": {"tx_type": "unstake", "from": STAKED, "active": 1}},
            {
                "debit": COLLECTOR,
                "credit": payee,
                "amount": amount,
                "more": {"tx_type": "reward", "active": 2, "at_most": True},
            },
            {
                "debit": COLLECTOR,
                "credit": payee,
                "amount": amount,
                "more": {"tx_type": "compound", "to": STAKED, "active": 2, "at_most": True},
            },
            self._crossing(payer, amount),
            self._decision(),
        ]
        opening = {
            **both,
            "amount": amount,
            "expires": expires,
            "more": {
                "tx_type": "hold",
                "to": ESCROW,
                "fee": "held",
                "active": 1,
                "paced": "sent",
                "hold": held_for,
                **fixed,
            },
        }
        capture = {
            "debit": None,
            "credit": None,
            "amount": taken,
            "more": {
                "tx_type": "capture",
                "active": 2,
                "typed": True,
                "capture": {"id": hold, "final": self.chance.random() < 0.3},
            },
        }
        if self.chance.random() < 0.2 and taken > 2:
            fee = {"tx_type": "trade", "typed": False, "fee": "inside", "fixed_fee": self.chance.randrange(3)}
            capture["more"] |= fee
        slash = {
            "debit": None,
            "credit": None,
            "amount": taken,
            "more": {
                "tx_type": "destroy",
                "active": 0,
                "ref": f"{self.chance.random()}",
                "capture": {"id": hold, "destroyed": True},
            },
        }
        ending = self.chance.choice(
            [
                {"tx_type": "release", "release": {"id": hold}},
                {"tx_type": "expire", "release": {"id": hold, "due": True}},
            ]
        )
        freeing = {"debit": None, "credit": None, "amount": 1, "more": {"active": 0, **ending}}
        makers += [opening, capture, freeing, slash]
        return json.loads(json.dumps(self.chance.choice([makers[kind] for kind in self.kinds])))  # type: ignore[no-any-return]

    def _step(self, step: str, direction: str, **members: Any) -> dict[str, Any]:
        transfer_id = str(UUID(int=self.chance.randrange(3)))
        return {
            "step": step,
            "direction": direction,
            "transfer_id": transfer_id,
            "transit": PEER,
            "supply_max": 9 * 10**18,
            **members,
        }

    def _crossing(self, agent: str, amount: int) -> dict[str, Any]:
        return self._decision() if self.chance.random() < 0.3 else self._reserve(agent, amount)

    def _reserve(self, agent: str, amount: int) -> dict[str, Any]:
        if self.chance.random() < 0.5:
            step = self._step("reserve", "out")
            more = {"tx_type": "out", "to": TRANSIT, "active": 1, "paced": "sent"}
            order = {"debit": agent, "credit": PEER}
        else:
            limit = self.chance.choice([50, 10**4, 10**10])
            step = self._step("reserve", "in", fee=amount // 200, net_in_limit=limit, treasury=TREASURY)
            more = {"active": 2}
            order = {"debit": PEER, "credit": agent}
        known = self.model.crossings.get((step["direction"], step["transfer_id"]))
        if known and self.chance.random() < 0.4:
            agent, amount, fee = known.body
            step |= {"fee": fee} if step["direction"] == "in" else {}
            order |= {"debit" if step["direction"] == "out" else "credit": agent}
        return {**order, "amount": amount, "more": {**more, "ref": step["transfer_id"], "crossing": step}}

    def _decision(self) -> dict[str, Any]:
        step = self._step(self.chance.choice(["commit", "abort"]), self.chance.choice(["out", "in"]))
        if self.model.crossings and self.chance.random() < 0.8:
            direction, transfer_id = self.chance.choice([*self.model.crossings])
            step |= {"direction": direction, "transfer_id": transfer_id}
        match step["step"], step["direction"]:
            case "abort", "out":
                more = {"tx_type": "return", "from": TRANSIT}
            case "commit", "in":
                more = {"tx_type": "in", "from": TRANSIT, "fee": "inside"}
            case _:
                more = {}
        ref = {"ref": step["transfer_id"]} if more else {}
        return {
            "debit": PEER,
            "credit": None,
            "amount": 1,
            "more": {**more, **ref, "active": 0, "crossing": step},
        }

    async def _compare(self) -> None:
        rows = await self.database.fetch("SELECT did, liquid, staked, escrow, transit FROM ledger_account")
        stored = {row["did"]: [*row][1:] for row in rows}
        expected = {did: [*account.funds.values()] for did, account in self.model.accounts.items()}
        assert stored == expected, self.given
        assert await ledger.escrow_gaps(self.database) == [], self.given
        rows = await self.database.fetch(
            "SELECT captured, fee_captured, remaining FROM ledger_hold ORDER BY id"
        )
        held = [(hold.captured, hold.fee_captured, hold.left) for hold in self.model.holds]
        assert [tuple(row) for row in rows] == held, self.given
        rows = await self.database.fetch(
            "SELECT c.direction, c.transfer_id::text, a.did, c.amount, c.fee, c.state"
            " FROM ledger_crossing c JOIN ledger_account a ON a.id = c.agent_id"
        )
        crossed = {(*key, *one.body, one.state) for key, one in self.model.crossings.items()}
        assert {tuple(row) for row in rows} == crossed, self.given
        assert await self._corridor_gap() == 0, self.given

    async def _corridor_gap(self) -> int:
        """Return the distance between the transit account and the committed and reserved amounts."""
        gap: int = await self.database.fetchval(
            "SELECT a.transit + coalesce(k.committed_in - k.committed_out, 0) - coalesce((SELECT sum(amount)"
            " FROM ledger_crossing WHERE direction = 'out' AND state = 'reserved'), 0)::bigint"
            " FROM ledger_account a LEFT JOIN ledger_corridor k ON k.transit_id = a.id WHERE a.did = $1",
            PEER,
        )
        return gap


@pytest.fixture
async def database(database_farm: DatabaseFarm) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    dsn = await database_farm.fresh()
    connection = await asyncpg.connect(dsn)
    yield connection
    await connection.close()
    await database_farm.drop(dsn)


async def test_the_engine_and_the_model_end_every_history_alike(
    database: "asyncpg.Connection[asyncpg.Record]",
):
    await live(database, str(printed_seed()), range(HISTORIES))


async def live(database: "asyncpg.Connection[asyncpg.Record]", seed: str, histories: Iterable[int]) -> None:
    for number in histories:
        await History(database, random.Random(f"{seed}-{number}")).live()


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_planted_fault_is_found(database: "asyncpg.Connection[asyncpg.Record]", fault: str):
    sound, faulty, found_by = FAULTS[fault]
    assert ENGINE.count(sound) == 1
    await database.execute(ENGINE.replace(sound, faulty))
    # The same histories each time, from the one on that found it when the fault was written down.
    with pytest.raises((AssertionError, asyncpg.PostgresError)):
        await live(database, "planted", [*range(found_by, PLANTED_HISTORIES), *range(found_by)])

"""Acts of agents at the same moment on their beginning, their keys and their end, in many orders of statements."""

from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta
from itertools import count
from typing import Any
from uuid import uuid4

import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import IS_DEVELOPER_SUSPENDED, Developer
from hansa.foundation.values.money import parse_amount
from hansa.rooms import agents, ledger
from hansa.rooms.agents.bootstrap import issue_bootstrap_token
from hansa.rooms.agents.credentials import NewIdentity, new_identity, own_or_new_key
from hansa.rooms.agents.errors import AgentSuspended, BootstrapTokenUsed
from hansa.rooms.agents.keys.held_key import HeldKey
from hansa.rooms.agents.keys.reading import rotate_key
from hansa.rooms.agents.mtls.enrol import enable_mtls
from hansa.rooms.agents.mtls.rules import Enrolment
from hansa.rooms.agents.onboard import Onboarded, Onboarding, create_agent
from hansa.rooms.agents.status import retire
from hansa.rooms.organizations.fleet import CREATION
from tests.founded import open_copy
from tests.properties.interleaving import Choose, Director, UseCase, directing, in_every_order, in_some_orders
from tests.properties.proof import prove_book
from tests.properties.scale import by_tier, printed_seed
from tests.registry import DatabaseFarm, TestRegistry, card_of

ORDERS = by_tier(60, 500, 5000)
_developers = count(1_000_000)


class Stage:
    """Registry, director, and the acts of the sides."""

    def __init__(self, registry: TestRegistry, director: Director) -> None:
        self.registry = registry
        self.director = director

    def creation(self, bootstrap_token: str, identity: NewIdentity | None = None) -> UseCase:
        whose = identity or new_identity(self.registry.settings, None)
        asked = Onboarding(
            bootstrap_token, whose, host=None, card=card_of(f"Agent {uuid4().hex[:8]}"), site="203.0.113.1"
        )
        is_suspended = IS_DEVELOPER_SUSPENDED.of(self.registry.runtime)
        return lambda tx: create_agent(tx, asked, self.registry.settings, is_suspended, CREATION)

    async def bootstrap_tokens(self, how_many: int) -> list[str]:
        """Tokens of a developer that has no agents yet."""
        number = next(_developers)
        developer = Developer(
            id=number,
            email=f"{number}@example.org",
            session="",
            is_verified=True,
            areas=frozenset(),
            is_admin=False,
        )

        async def issue(tx: Tx) -> str:
            issued = await issue_bootstrap_token(
                tx,
                developer,
                is_suspended=IS_DEVELOPER_SUSPENDED.of(self.registry.runtime),
                organizations=CREATION,
                agent_type_hint=None,
                requested_by=None,
                lifetime_seconds=300,
            )
            return issued.token

        return [await self.registry.database.transaction(issue) for _ in range(how_many)]

    async def agents(self) -> tuple[str, str]:
        """The DIDs of an agent with the grant and of one that owns nothing."""
        rich, poor = (new_identity(self.registry.settings, None) for _ in range(2))
        for token, identity in zip(await self.bootstrap_tokens(2), (rich, poor), strict=True):
            await self.registry.database.transaction(self.creation(token, identity))
        return rich.did, poor.did

    async def one(self, statement: str, *values: Any) -> Any:
        return await self.registry.database.read(lambda tx: tx.fetchval(statement, *values))


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    async with (
        open_copy(database_farm, tmp_path_factory.mktemp("onboarding")) as registry,
        directing(registry.database.dsn, 2) as director,
    ):
        yield Stage(registry, director)


async def test_one_bootstrap_token_used_twice_creates_one_agent_in_any_order(stage: Stage):
    async def play(choose: Choose) -> None:
        (token,) = await stage.bootstrap_tokens(1)
        before = await stage.one("SELECT count(*) FROM agents_agent")
        outcomes = await stage.director.play([stage.creation(token), stage.creation(token)], choose)
        assert Counter(map(type, outcomes)) == {Onboarded: 1, BootstrapTokenUsed: 1}, outcomes
        assert await stage.one("SELECT count(*) FROM agents_agent") == before + 1
        assert (
            await stage.one(
                "SELECT count(*) FROM agents_agent a LEFT JOIN catalogue_card c USING (did) WHERE c.did IS NULL"
            )
            == 0
        )

    await in_some_orders(play, count=ORDERS, seed=printed_seed())
    await stage.registry.database.read(prove_book)


async def test_two_first_agents_receive_one_grant_in_any_order(stage: Stage):
    async def play(choose: Choose) -> None:
        tokens = await stage.bootstrap_tokens(2)
        before = await stage.one("SELECT count(*) FROM ledger_transaction WHERE tx_type = 'grant'")
        outcomes = await stage.director.play([stage.creation(token) for token in tokens], choose)
        assert {type(outcome) for outcome in outcomes} == {Onboarded}, outcomes
        assert sorted(outcome.funding for outcome in outcomes) == ["completed", "not_first_agent"]
        assert (
            await stage.one("SELECT count(*) FROM ledger_transaction WHERE tx_type = 'grant'") == before + 1
        )

    await in_some_orders(play, count=ORDERS, seed=printed_seed())
    await stage.registry.database.read(prove_book)


async def test_two_rotations_follow_each_other_in_every_order(stage: Stage):
    def rotation(did: str) -> UseCase:
        public_key, _ = own_or_new_key(None)
        return lambda tx: rotate_key(tx, did, public_key)

    async def play(choose: Choose) -> None:
        _, did = await stage.agents()
        outcomes = await stage.director.play([rotation(did), rotation(did)], choose)
        assert {type(outcome) for outcome in outcomes} == {HeldKey}, outcomes
        first, second = sorted(outcomes, key=lambda key: key.number)
        assert (first.number, second.number) == (2, 3)
        assert second.valid_from > first.valid_from

    assert await in_every_order(play) > 1


async def test_an_end_and_a_payment_never_leave_units_behind_in_every_order(stage: Stage):
    book = ledger.Book.of(stage.registry.settings)

    async def play(choose: Choose) -> None:
        rich, did = await stage.agents()
        order = ledger.TransferOrder(rich, did, parse_amount("10"))
        paid, ended = await stage.director.play(
            [
                lambda tx: ledger.transfer(tx, order, book),
                lambda tx: retire(tx, did, by="agent"),
            ],
            choose,
        )
        held = await stage.one("SELECT liquid FROM ledger_account WHERE did = $1", did)
        if isinstance(paid, ledger.Receipt):
            assert isinstance(ended, ledger.AccountHoldsUnits)
            assert held == 10 * 10**8
        else:
            assert isinstance(paid, ledger.AccountSuspended)
            assert (ended, held) == ("revoked", 0)

    assert await in_every_order(play) > 1
    await stage.registry.database.read(prove_book)


async def test_no_certificate_slips_past_a_suspension_in_every_order(stage: Stage):
    async def play(choose: Choose) -> None:
        _, did = await stage.agents()

        async def suspended(tx: Tx) -> str:
            await agents.suspend(tx, did)
            return await agents.revoke_mtls(tx, did)

        enrolled, revoked = await stage.director.play(
            [lambda tx: enable_mtls(tx, did, stage.registry.settings), suspended], choose
        )
        status = await stage.one(
            "SELECT m.status FROM agents_mtls m JOIN agents_agent a ON a.id = m.agent_id WHERE a.did = $1",
            did,
        )
        if isinstance(enrolled, Enrolment):
            assert (revoked, status) == ("revoked", "revoked")
            assert enrolled.expires_at - enrolled.issued_at <= timedelta(minutes=30)
        else:
            assert isinstance(enrolled, AgentSuspended)
            assert (revoked, status) == ("not_enrolled", None)

    assert await in_every_order(play) > 1

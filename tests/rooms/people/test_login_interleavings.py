"""Logins, refreshes and changes of a password that meet, in every order of their statements."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import asyncpg
import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.secrets import fingerprint
from hansa.rooms.people import (
    login,
    partial_login,
    recovery_keys,
    session_store,
    sessions,
    store,
    two_factor,
)
from hansa.rooms.people.recovery import acts
from hansa.rooms.people.sessions import Client, OpenSession
from hansa.rooms.people.two_factor import store as factors
from tests.founded import open_copy
from tests.properties.interleaving import Choose, Director, UseCase, directing, in_every_order, in_some_orders
from tests.properties.scale import TIER, printed_seed
from tests.registry import DatabaseFarm, TestRegistry

WIDE_SAMPLE = 40
BACKUP_CODES = ("first", "second")
OPENING = sessions.opening_for(Client("test", "192.0.2.1"))


@dataclass(frozen=True)
class Scene:
    """Somebody with two-factor login, a session, two halves of a login and a recovery key."""

    registry: TestRegistry
    account: store.Account
    open_session: OpenSession
    halves: tuple[str, str]
    recovery_key: str

    def refresh(self) -> UseCase:
        return lambda tx: sessions.refresh(tx, self.open_session.refresh_token)

    def complete(self, half: int, code: str) -> UseCase:
        seal = self.registry.runtime.seal
        return lambda tx: login.complete(tx, seal, self.halves[half], code, OPENING)

    def log_in(self, code: str) -> UseCase:
        seal = self.registry.runtime.seal
        return lambda tx: login.log_in(tx, seal, self.account, code, OPENING)

    def change_password(self) -> UseCase:
        developer = Developer(self.account.id, "", "", is_verified=True, areas=frozenset(), is_admin=False)
        old, seal = self.account.password_hash, self.registry.runtime.seal
        return lambda tx: acts.change_password(tx, seal, developer, old, "another")

    def log_out(self) -> UseCase:
        return lambda tx: sessions.end_all(tx, self.account.id)

    def burn_key(self) -> UseCase:
        return lambda tx: recovery_keys.burn(tx, self.account.id, self.recovery_key)

    async def live_tokens(self) -> int:
        """How many sessions are open that a refresh token can continue."""
        count: int = await self.registry.database.read(
            lambda tx: tx.fetchval(
                "SELECT count(*) FROM people_session s WHERE developer_id = $1 AND ended_at IS NULL"
                " AND EXISTS (SELECT FROM people_refresh_token WHERE session_id = s.id AND used_at IS NULL)",
                self.account.id,
            )
        )
        return count


# What the two sides do; then whether these outcomes, with so many live sessions afterwards, are right.
Pair = tuple[Callable[[Scene], list[UseCase]], Callable[[list[Any], int], bool]]
NARROW: dict[str, Pair] = {
    "of two refreshes with one token one wins, and the other ends the family": (
        lambda s: [s.refresh(), s.refresh()],
        lambda outcomes, live: wins(outcomes) == 1 and live == 0,
    ),
    "a recovery key is burnt once": (
        lambda s: [s.burn_key(), s.burn_key()],
        lambda outcomes, live: sorted(outcomes) == [False, True],
    ),
    "after a logout no refresh that it met is worth anything": (
        lambda s: [s.refresh(), s.log_out()],
        lambda outcomes, live: live == 0,
    ),
}
WIDE: dict[str, Pair] = {
    "of two logins with one backup code one wins": (
        lambda s: [s.complete(0, "first"), s.complete(1, "first")],
        lambda outcomes, live: wins(outcomes) == 1 and live == 2,
    ),
    "of two logins with one partial token one wins": (
        lambda s: [s.complete(0, "first"), s.complete(0, "second")],
        lambda outcomes, live: wins(outcomes) == 1 and live == 2,
    ),
    "no login that meets a change of the password leaves a session of the old one": (
        lambda s: [s.log_in("first"), s.change_password()],
        lambda outcomes, live: outcomes[1] is None and live == 0,
    ),
    "no login in its second step that meets a change of the password leaves a session": (
        lambda s: [s.complete(0, "first"), s.change_password()],
        lambda outcomes, live: outcomes[1] is None and live == 0,
    ),
    "no refresh that meets a change of the password is worth anything": (
        lambda s: [s.refresh(), s.change_password()],
        lambda outcomes, live: outcomes[1] is None and live == 0,
    ),
}


def wins(outcomes: list[Any]) -> int:
    assert not [outcome for outcome in outcomes if isinstance(outcome, asyncpg.PostgresError)], outcomes
    return sum(isinstance(outcome, OpenSession) for outcome in outcomes)


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[TestRegistry, Director]]:
    async with (
        open_copy(database_farm, tmp_path_factory.mktemp("stage")) as registry,
        directing(registry.database.dsn, 2) as director,
    ):
        yield registry, director


async def set_scene(registry: TestRegistry) -> Scene:
    async def furnish(tx: Tx) -> tuple[store.Account, OpenSession, tuple[str, str], str]:
        number = await tx.fetchval("SELECT count(*) FROM people_developer")
        email = f"someone{number}@example.org"
        name = f"Someone {number}".encode()
        new = store.NewDeveloper(
            name=name.decode(),
            name_as_written=name,
            name_in_lower_case=name,
            email=email,
            password_hash="the old one",
            is_verified=True,
            age_confirmed=True,
            tos_version=None,
        )
        developer_id = await store.add_developer(tx, new)
        account = await login.find_account(tx, email)
        assert account is not None
        assert developer_id == account.id
        await factors.keep_seed(tx, account.id, b"")
        await factors.turn_on(tx, account.id, [fingerprint(code) for code in BACKUP_CODES])
        opened = await sessions.continue_session(
            tx, await session_store.open_session(tx, account.id, "", "", gave_code=False)
        )
        halves = (await partial_login.begin(tx, account.id), await partial_login.begin(tx, account.id))
        return account, opened, halves, (await recovery_keys.issue(tx, account.id))[0]

    return Scene(registry, *await registry.database.transaction(furnish))


async def play_pair(stage: tuple[TestRegistry, Director], pair: Pair, choose: Choose) -> None:
    registry, director = stage
    scene = await set_scene(registry)
    assert await registry.database.read(lambda tx: two_factor.is_on(tx, scene.account.id))
    sides, is_right = pair
    outcomes = await director.play(sides(scene), choose)
    live = await scene.live_tokens()
    assert is_right(outcomes, live), (outcomes, live)


def playing(stage: tuple[TestRegistry, Director], pair: Pair) -> Callable[[Choose], Awaitable[None]]:
    return lambda choose: play_pair(stage, pair, choose)


@pytest.mark.parametrize("name", NARROW)
async def test_in_every_order_of_statements(name: str, stage: tuple[TestRegistry, Director]) -> None:
    orders = await in_every_order(playing(stage, NARROW[name]))
    print(f"{name}: {orders} orders")
    assert orders > 1


@pytest.mark.parametrize("name", WIDE)
async def test_in_many_orders_of_statements(name: str, stage: tuple[TestRegistry, Director]) -> None:
    if TIER == 0:
        await in_some_orders(playing(stage, WIDE[name]), count=WIDE_SAMPLE, seed=printed_seed())
    else:
        print(f"{name}: {await in_every_order(playing(stage, WIDE[name]))} orders")

"""Answers of phones, logins and changes of an account that meet, in many orders of their statements."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import asyncpg
import pytest

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.secrets import fingerprint
from hansa.rooms.people import login, partial_login, phones, recovery_keys, second_factors, sessions, store
from hansa.rooms.people.phones import PhoneLoginEnded, logins
from hansa.rooms.people.phones import store as phone_store
from hansa.rooms.people.phones.records import Device, PhoneLogin
from hansa.rooms.people.sessions import Client, OpenSession
from tests.founded import open_copy
from tests.passkeys import Authenticator, decoded, encoded
from tests.properties.interleaving import Director, UseCase, directing, in_some_orders
from tests.properties.scale import by_tier, printed_seed
from tests.registry import DatabaseFarm, TestRegistry

ORDERS = by_tier(25, 100, 400)
BASE_URL = "https://registry.example"
SETTINGS = Settings.model_construct(public_base_url=BASE_URL, registry_name="hansa")
OPENING = sessions.opening_for(Client("test", "192.0.2.1"))
HANDLE = bytes(32)


@dataclass(frozen=True)
class Scene:
    """Account with two phones and a login that waits for them."""

    registry: TestRegistry
    account: store.Account
    devices: tuple[Device, Device]
    authenticators: tuple[Authenticator, Authenticator]
    token: str
    waiting: PhoneLogin
    recovery_key: str

    def approve(self, phone: int, number: str | None = None) -> UseCase:
        assertion = self.authenticators[phone].get(encoded(self.waiting.challenge))
        seal = self.registry.runtime.seal

        async def approved(tx: Tx) -> logins.Answer:
            return await logins.approve(
                tx,
                seal,
                SETTINGS,
                self.devices[phone],
                self.waiting.id,
                number=number or self.waiting.number,
                assertion=assertion,
            )

        return approved

    def deny(self, phone: int) -> UseCase:
        seal = self.registry.runtime.seal
        return lambda tx: logins.deny(tx, seal, self.devices[phone], self.waiting.id, not_me=True)

    def expire(self) -> UseCase:
        async def expired(tx: Tx) -> None:
            await tx.execute(
                "UPDATE people_phone_login SET asked_at = asked_at - interval '3 minutes',"
                " expires_at = expires_at - interval '3 minutes' WHERE id = $1",
                self.waiting.id,
            )
            await phone_store.expire_logins(tx, self.account.id)

        return expired

    def finish(self) -> UseCase:
        return lambda tx: login.complete_by_phone(tx, self.token, OPENING)

    def log_in(self) -> UseCase:
        seal, client = self.registry.runtime.seal, Client("other", "192.0.2.2")
        return lambda tx: login.log_in(tx, seal, self.account, None, OPENING, browser=client)

    def log_out(self) -> UseCase:
        return lambda tx: sessions.end_all(tx, self.account.id)

    def remove(self, phone: int) -> UseCase:
        developer = Developer(self.account.id, "", "", is_verified=True, areas=frozenset(), is_admin=False)
        seal = self.registry.runtime.seal
        return lambda tx: phones.remove_device(tx, seal, developer, self.devices[phone].id, None)

    def recover(self) -> UseCase:
        seal = self.registry.runtime.seal
        return lambda tx: second_factors.recover(tx, seal, None, self.token, self.recovery_key)

    async def count(self, what: str) -> int:
        number: int = await self.registry.database.read(
            lambda tx: tx.fetchval(f"SELECT count(*) FROM {what}", self.account.id)
        )
        return number


SESSIONS = "people_session WHERE developer_id = $1 AND ended_at IS NULL"
PENDING = "people_phone_login WHERE developer_id = $1 AND status = 'pending'"

# Sides that meet; then whether outcomes, open sessions and logins that wait are right.
Pair = tuple[Callable[[Scene], list[UseCase]], Callable[[list[Any], int, int], bool]]
PAIRS: dict[str, Pair] = {
    "of two approvals one decides": (
        lambda s: [s.approve(0), s.approve(1)],
        lambda outcomes, live, pending: decided(outcomes) == 1 and pending == 0,
    ),
    "of an approval and a denial one decides": (
        lambda s: [s.approve(0), s.deny(1)],
        lambda outcomes, live, pending: decided(outcomes) == 1 and pending == 0,
    ),
    "of a right and a wrong number one decides": (
        lambda s: [s.approve(0), s.approve(1, "xx")],
        lambda outcomes, live, pending: decided(outcomes) == 1 and pending == 0,
    ),
    "an approval beside the expiry is whole or refused": (
        lambda s: [s.approve(0), s.expire()],
        lambda outcomes, live, pending: decided(outcomes[:1]) in {0, 1} and pending == 0,
    ),
    "a login that is approved opens one session at most": (
        lambda s: [s.approve(0), s.finish(), s.finish()],
        lambda outcomes, live, pending: live == opened(outcomes) <= 1,
    ),
    "a logout leaves no session of a login that it met": (
        lambda s: [s.approve(0), s.log_out()],
        lambda outcomes, live, pending: pending == 0 and live == 0,
    ),
    "one login waits however many are begun": (
        lambda s: [s.deny(0), s.log_in(), s.log_in()],
        lambda outcomes, live, pending: decided(outcomes[:1]) == 1 and pending <= 1,
    ),
    "a phone that is removed meanwhile decides before or never": (
        lambda s: [s.approve(0), s.remove(0)],
        lambda outcomes, live, pending: outcomes[1] is True,
    ),
    "a recovery beside an approval removes the phones and leaves no login": (
        lambda s: [s.approve(0), s.recover()],
        lambda outcomes, live, pending: outcomes[1] is True and pending == 0,
    ),
}


def decided(outcomes: list[Any]) -> int:
    """Number of answers that decided; the others found the login decided."""
    refused = [outcome for outcome in outcomes if isinstance(outcome, PhoneLoginEnded)]
    assert not [one for one in outcomes if isinstance(one, Exception) and one not in refused], outcomes
    return len(outcomes) - len(refused)


def opened(outcomes: list[Any]) -> int:
    assert not [outcome for outcome in outcomes if isinstance(outcome, asyncpg.PostgresError)], outcomes
    return sum(isinstance(outcome, OpenSession) for outcome in outcomes)


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[TestRegistry, Director]]:
    async with (
        open_copy(database_farm, tmp_path_factory.mktemp("stage")) as registry,
        directing(registry.database.dsn, 3) as director,
    ):
        yield registry, director


async def set_scene(registry: TestRegistry) -> Scene:
    authenticators = Authenticator(BASE_URL, "registry.example"), Authenticator(BASE_URL, "registry.example")

    async def furnish(tx: Tx) -> tuple[Any, ...]:
        number = await tx.fetchval("SELECT count(*) FROM people_developer")
        name = f"Someone {number}"
        new = store.NewDeveloper(
            name=name,
            name_as_written=name.encode(),
            name_in_lower_case=name.encode(),
            email=f"someone{number}@example.org",
            password_hash="the old one",
            is_verified=True,
            age_confirmed=True,
            tos_version=None,
        )
        await store.add_developer(tx, new)
        account = await login.find_account(tx, new.email)
        assert account is not None
        await phone_store.user_handle_of(tx, account.id, HANDLE)
        devices = [await enrolled(tx, account.id, one) for one in authenticators]
        token = await partial_login.begin(tx, account.id)
        assert await phones.ask(tx, account.id, token, address="192.0.2.1", user_agent="test")
        (waiting,) = await phones.waiting(tx, devices[0])
        key = (await recovery_keys.issue(tx, account.id))[0]
        return account, tuple(devices), authenticators, token, waiting, key

    return Scene(registry, *await registry.database.transaction(furnish))


async def enrolled(tx: Tx, developer_id: int, authenticator: Authenticator) -> Device:
    made = authenticator.create({"challenge": encoded(HANDLE)})
    party = phones.passkeys.RelyingParty.of(SETTINGS)
    passkey = phones.passkeys.made_passkey(party, made, HANDLE)
    device = await phone_store.enrol(
        tx,
        developer_id,
        name="Phone",
        credential_id=decoded(made["id"]),
        public_key=passkey.public_key,
        sign_count=passkey.sign_count,
        cookie_hash=fingerprint(made["id"]),
    )
    assert device is not None
    return device


@pytest.mark.parametrize("name", PAIRS)
async def test_in_many_orders_of_statements(name: str, stage: tuple[TestRegistry, Director]) -> None:
    registry, director = stage
    sides, is_right = PAIRS[name]

    async def play(choose: Callable[[int], int]) -> None:
        scene = await set_scene(registry)
        outcomes = await director.play(sides(scene), choose)
        live, pending = await scene.count(SESSIONS), await scene.count(PENDING)
        assert is_right(outcomes, live, pending), (outcomes, live, pending)

    await in_some_orders(play, count=ORDERS, seed=printed_seed())

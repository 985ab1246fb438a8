"""The application's clock jumps; only the database's clock decides ends and times."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Any

import httpx2
import pytest

import hansa.foundation.plumbing.keys.tokens as token_plumbing
from hansa.foundation.plumbing.keys.tokens import TokenKind
from tests.faults.wrong_clock import DAY, WrongClock
from tests.properties.proof import prove_book
from tests.properties.scale import by_tier, printed_seed
from tests.registry import StartRegistry, TestAgent, TestDeveloper, TestRegistry, card_of

JUMPS = by_tier(10, 100, 500)
BOUNDARY_ROUNDS = by_tier(1, 5, 25)
BOOTSTRAP_TOKENS = 12
CLIENTS = 4
SHORT_SECONDS = 2
SHARE_OF_CREATIONS = 0.1
ROLES = ["trader", "client", "staker"]

_END_BOOTSTRAP_TOKENS = (
    "UPDATE agents_bootstrap_token SET expires_at = $1 WHERE used_at IS NULL AND expires_at > now()"
)

# When something happened, wherever that is kept.
MOMENTS = (
    ("journal_event", "recorded_at"),
    ("ledger_transaction", "recorded_at"),
    ("ledger_account", "opened_at"),
    ("ledger_stake_position", "staked_at"),
    ("plumbing_idempotency", "created_at"),
    ("agents_agent", "created_at"),
    ("agents_bootstrap_token", "issued_at"),
)


@pytest.fixture
async def registry(start_registry: StartRegistry) -> TestRegistry:
    """A registry whose agents may stake."""
    return await start_registry(agent_rbac_default_roles=ROLES, rate_limit_reads="off")


@pytest.fixture
def clock(registry: TestRegistry, monkeypatch: pytest.MonkeyPatch) -> WrongClock:
    return WrongClock(monkeypatch)


@pytest.fixture
async def developer(registry: TestRegistry) -> TestDeveloper:
    return await registry.developer()


@pytest.fixture
async def alice(developer: TestDeveloper) -> TestAgent:
    return await developer.agent()


@pytest.fixture
async def bob(developer: TestDeveloper) -> TestAgent:
    return await developer.agent(name="Bob")


def test_the_wrong_clock_is_what_the_application_reads(clock: WrongClock):
    clock.shift = 400 * DAY
    ahead = datetime.now().astimezone() + timedelta(days=399)
    assert vars(token_plumbing)["datetime"].now().astimezone() > ahead


async def test_tokens_keys_locks_and_order_outlast_every_jump_during_a_storm(
    registry: TestRegistry, clock: WrongClock, developer: TestDeveloper, alice: TestAgent, bob: TestAgent
):
    random = Random(printed_seed())
    began = await _now(registry)
    locked = (await _stake(alice, lock_period=30)).json()["position_id"]
    first = await alice.transfer(bob, "1", key="first")
    ended = {
        kind: await _ended_token(registry, kind, of)
        for kind, of in ((TokenKind.AGENT, alice), (TokenKind.DEVELOPER, developer))
    }
    storm = [asyncio.create_task(_transfer_for_ever(bob, alice, number)) for number in range(CLIENTS)]
    for _ in range(JUMPS):
        clock.jump(random)
        token = await _agent_token(registry, alice)
        answers = {
            "live agent": await registry.get("/agents/me", headers=alice.headers),
            "live developer": await registry.get("/auth/profile", headers=developer.headers),
            "ended agent": await registry.get("/agents/me", headers=_bearer(ended[TokenKind.AGENT])),
            "ended developer": await registry.get(
                "/auth/profile", headers=_bearer(ended[TokenKind.DEVELOPER])
            ),
            "new bootstrap token": await _create(developer, await developer.bootstrap_token()),
            "locked stake": await _unstake(alice, position_id=locked),
        }
        clock.jump(random)
        answers["agent after another jump"] = await registry.get("/agents/me", headers=_bearer(token))
        again = await alice.transfer(bob, "1", key="first")
        statuses = {what: answer.status_code for what, answer in answers.items()}
        assert statuses == {
            "live agent": 200,
            "live developer": 200,
            "ended agent": 401,
            "ended developer": 401,
            "new bootstrap token": 201,
            "locked stake": 403,
            "agent after another jump": 200,
        }, clock.shift
        assert (again.text, again.headers["idempotent-replayed"]) == (first.text, "true"), clock.shift
    done = await _stopped(storm)
    assert min(done) > 0
    assert await _outside(registry, began) == {}
    await registry.database.query(prove_book)
    print(f"{JUMPS * 2} jumps, {sum(done)} transfers meanwhile")


async def test_a_token_is_good_until_its_end_by_the_clock_of_the_database_and_no_longer(
    registry: TestRegistry, clock: WrongClock, developer: TestDeveloper, alice: TestAgent
):
    random = Random(printed_seed())
    judged: Counter[str] = Counter()
    session = registry.runtime.tokens.verify(TokenKind.DEVELOPER, developer.token)
    secret = registry.runtime.tokens.verify(TokenKind.AGENT, alice.token).session
    for _ in range(BOUNDARY_ROUNDS):
        bootstrap_tokens = [await developer.bootstrap_token() for _ in range(BOOTSTRAP_TOKENS)]
        ends_at = (await _now(registry) + timedelta(seconds=SHORT_SECONDS)).replace(microsecond=0)
        await registry.database.transaction(lambda tx, end=ends_at: tx.execute(_END_BOOTSTRAP_TOKENS, end))
        agent = _token(registry, TokenKind.AGENT, alice.did, secret, ends_at)
        person = _token(registry, TokenKind.DEVELOPER, session.subject, session.session, ends_at)
        asked = [
            partial(registry.get, "/agents/me", headers=_bearer(agent)),
            partial(registry.get, "/auth/profile", headers=_bearer(person)),
        ]
        while await _now(registry) < ends_at + timedelta(seconds=SHORT_SECONDS):
            clock.jump(random)
            for ask in asked:
                judged[await _judged(registry, ends_at, ask)] += 1
            if bootstrap_tokens and random.random() < SHARE_OF_CREATIONS:
                create = partial(_create, developer, bootstrap_tokens.pop())
                judged[await _judged(registry, ends_at, create)] += 1
        for token in bootstrap_tokens:
            assert (await _create(developer, token)).status_code == 401
    assert judged["wrongly accepted"] == judged["wrongly refused"] == 0, judged
    assert min(judged["accepted"], judged["refused"]) > 0
    print(dict(judged))


async def test_an_answer_is_remembered_for_a_day_of_the_database(
    registry: TestRegistry, clock: WrongClock, alice: TestAgent, bob: TestAgent
):
    random = Random(printed_seed())
    for number in range(JUMPS):
        key = f"key-{number}"
        first = await alice.transfer(bob, "0.01", key=key)
        clock.jump(random)
        await _age(
            registry,
            "UPDATE plumbing_idempotency SET created_at = created_at - $1::interval",
            hours=23,
            minutes=59,
        )
        within = await alice.transfer(bob, "0.01", key=key)
        await _age(
            registry, "UPDATE plumbing_idempotency SET created_at = created_at - $1::interval", minutes=2
        )
        after = await alice.transfer(bob, "0.01", key=key)
        assert (first.status_code, after.status_code) == (200, 200)
        assert (within.text, within.headers["idempotent-replayed"]) == (first.text, "true"), clock.shift
        assert "idempotent-replayed" not in after.headers, clock.shift


async def test_a_lock_ends_when_its_days_have_passed_for_the_database(
    registry: TestRegistry, clock: WrongClock, alice: TestAgent
):
    random = Random(printed_seed())
    for _ in range(JUMPS):
        position = (await _stake(alice, lock_period=30)).json()["position_id"]
        clock.jump(random)
        await _age(
            registry,
            "UPDATE ledger_stake_position SET unlocks_at = unlocks_at - $1::interval",
            days=30,
            minutes=-1,
        )
        early = await _unstake(alice, position_id=position)
        await _age(
            registry, "UPDATE ledger_stake_position SET unlocks_at = unlocks_at - $1::interval", minutes=1
        )
        late = await _unstake(alice, position_id=position)
        assert (early.status_code, late.status_code) == (403, 200), clock.shift


async def test_a_bootstrap_token_ends_when_its_time_has_passed_for_the_database(
    registry: TestRegistry, clock: WrongClock, developer: TestDeveloper
):
    random = Random(printed_seed())
    age = (
        "UPDATE agents_bootstrap_token SET issued_at = issued_at - $1::interval, expires_at = expires_at - $1::interval"
        " WHERE used_at IS NULL"
    )
    lifetime = registry.settings.bootstrap_token_lifetime
    for _ in range(JUMPS):
        live, ended = await developer.bootstrap_token(), await developer.bootstrap_token()
        clock.jump(random)
        await _age(registry, age, seconds=lifetime - 60)
        assert (await _create(developer, live)).status_code == 201, clock.shift
        await _age(registry, age, seconds=60)
        assert (await _create(developer, ended)).status_code == 401, clock.shift


async def _now(registry: TestRegistry) -> datetime:
    now: datetime = await registry.database.query(lambda tx: tx.fetchval("SELECT clock_timestamp()"))
    return now


async def _age(registry: TestRegistry, statement: str, **by: float) -> None:
    await registry.database.transaction(lambda tx: tx.execute(statement, timedelta(**by)))


async def _ended_token(registry: TestRegistry, kind: TokenKind, of: TestAgent | TestDeveloper) -> str:
    """A token that ended two seconds ago."""
    claims = registry.runtime.tokens.verify(kind, of.token)
    ended_at = await _now(registry) - timedelta(seconds=2)
    return _token(registry, kind, claims.subject, claims.session, ended_at)


def _token(registry: TestRegistry, kind: TokenKind, subject: str, session: str, ends_at: datetime) -> str:
    lifetime = timedelta(hours=1)
    return registry.runtime.tokens.issue(
        kind, subject, session=session, now=ends_at - lifetime, lifetime=lifetime
    )


async def _agent_token(registry: TestRegistry, agent: TestAgent) -> str:
    form = {"username": agent.created["client_id"], "password": agent.created["client_secret"]}
    answer = await registry.post("/auth/agent/token", data=form, headers=registry.elsewhere())
    assert answer.status_code == 200, answer.text
    return str(answer.json()["access_token"])


async def _judged(
    registry: TestRegistry, ends_at: datetime, ask: Callable[[], Awaitable[httpx2.Response]]
) -> str:
    """Return whether a token was accepted, and whether that was right; at the moment of its end both are."""
    before = await _now(registry)
    answer = await ask()
    after = await _now(registry)
    assert answer.status_code in {200, 201, 401}, answer.text
    is_accepted = answer.is_success
    if is_accepted and before >= ends_at:
        return "wrongly accepted"
    if not is_accepted and after < ends_at:
        return "wrongly refused"
    return "accepted" if is_accepted else "refused"


async def _create(developer: TestDeveloper, bootstrap_token: str) -> httpx2.Response:
    return await developer.registry.post(
        "/onboard/create_agent",
        json={"agent_did_method": developer.registry.settings.did_method, "agent_card": card_of()},
        headers={"Bootstrap-Token": bootstrap_token, **developer.registry.elsewhere()},
    )


async def _stake(agent: TestAgent, *, lock_period: int) -> httpx2.Response:
    body = {"amount": "10", "lock_period": lock_period}
    answer = await agent.registry.post("/staking/stake", json=body, headers=agent.headers)
    assert answer.status_code == 200, answer.text
    return answer


async def _unstake(agent: TestAgent, *, position_id: str) -> httpx2.Response:
    body = {"amount": "10", "position_id": position_id}
    return await agent.registry.post("/staking/unstake", json=body, headers=agent.headers)


async def _transfer_for_ever(payer: TestAgent, payee: TestAgent, client: int) -> int:
    """How many were done when it was stopped."""
    done = 0
    with suppress(asyncio.CancelledError):
        while True:
            answer = await payer.transfer(payee, "0.00001", key=f"storm-{client}-{done}")
            assert answer.status_code == 200, answer.text
            done += 1
    return done


async def _stopped(storm: "list[asyncio.Task[int]]") -> list[int]:
    for client in storm:
        client.cancel()
    return await asyncio.gather(*storm)


async def _outside(registry: TestRegistry, began: datetime) -> dict[str, Any]:
    """Rows that claim to be from before the beginning or from the future."""

    async def counted(tx: Any) -> dict[str, int]:
        return {
            f"{table}.{column}": await tx.fetchval(
                # A batch of transfers may commit after the last client has gone.
                f"SELECT count(*) FROM {table} WHERE {column} NOT BETWEEN $1::timestamptz - interval '1 hour'"
                " AND clock_timestamp()",
                began,
            )
            for table, column in MOMENTS
        }

    return {place: count for place, count in (await registry.database.read(counted)).items() if count}


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}

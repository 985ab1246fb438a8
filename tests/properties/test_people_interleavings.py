"""Acts on accounts that meet each other, in many orders of their statements."""

import itertools
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from hansa.foundation.plumbing.room import ACCOUNT_END
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.errors import Refused
from hansa.rooms import people
from hansa.rooms.agents.bootstrap import IssuedToken, issue_bootstrap_token
from hansa.rooms.agents.credentials import new_identity
from hansa.rooms.agents.onboard import Onboarded, Onboarding, create_agent
from hansa.rooms.enforcement.developers import is_suspended_or_closed
from hansa.rooms.organizations.fleet import CREATION
from hansa.rooms.people import invites
from hansa.rooms.people.api_keys.make import MadeKey, make_key
from hansa.rooms.people.api_keys.rules import KEYS_PER_ACCOUNT
from hansa.rooms.people.deletion import carry_out_due
from hansa.rooms.people.deletion.acts import DeletionStatus, cancel_deletion
from hansa.rooms.people.invites.invite import make_invites, revoke_invite
from tests.founded import open_copy
from tests.properties.interleaving import Choose, Director, UseCase, directing, in_some_orders
from tests.properties.scale import by_tier, printed_seed
from tests.registry import PASSWORD, DatabaseFarm, TestRegistry, card_of

SAMPLE = by_tier(8, 200, 2_000)

_numbers = itertools.count(1)

_LIVING_AGENTS_OF_A_CLOSED_ACCOUNT = """
SELECT count(*) FROM agents_agent a JOIN people_developer d ON d.id = a.developer_id
WHERE d.id = $1 AND d.closed_at IS NOT NULL AND a.status <> 'revoked'
"""


@dataclass(frozen=True)
class Scene:
    """A developer whose deletion is due, with a bootstrap token, an invitation of one use, and room for one more key."""

    registry: TestRegistry
    developer: Developer
    bootstrap_token: str
    invite_code: str

    def redeem(self) -> UseCase:
        return lambda tx: invites.redeem(tx, self.invite_code)

    def take_back(self) -> UseCase:
        return lambda tx: revoke_invite(tx, self.developer, self.invite_code)

    def make_key(self) -> UseCase:
        return lambda tx: make_key(tx, self.developer, name="Another", scopes=None, ttl_days=1)

    def delete(self) -> UseCase:
        return lambda tx: carry_out_due(tx, ACCOUNT_END.of(self.registry.runtime))

    def keep(self) -> UseCase:
        return lambda tx: cancel_deletion(tx, self.developer)

    def create(self) -> UseCase:
        settings = self.registry.settings
        asked = Onboarding(
            self.bootstrap_token,
            new_identity(settings, None),
            host=None,
            card=card_of("Late"),
            site="203.0.113.1",
        )
        return lambda tx: create_agent(tx, asked, settings, is_suspended_or_closed, CREATION)

    def ask_for_token(self) -> UseCase:
        return lambda tx: issue_bootstrap_token(
            tx,
            self.developer,
            agent_type_hint=None,
            requested_by=None,
            lifetime_seconds=300,
            is_suspended=is_suspended_or_closed,
            organizations=CREATION,
        )

    async def value(self, statement: str) -> Any:
        return await self.registry.database.query(lambda tx: tx.fetchval(statement, self.developer.id))


def kinds(outcomes: list[Any]) -> list[str]:
    """Return the kind of the outcome of each side, sorted."""
    return sorted("refused" if isinstance(one, Refused) else type(one).__name__ for one in outcomes)


Play = tuple[Callable[[Scene], list[UseCase]], Callable[[list[Any]], bool]]

# What the sides do; then whether these outcomes are right.
MET: dict[str, Play] = {
    "an invitation of one use is used once": (
        lambda s: [s.redeem(), s.redeem()],
        lambda outcomes: kinds(outcomes) == [invites.Invitation.__name__, "refused"],
    ),
    "an invitation is used before it is revoked or not at all": (
        lambda s: [s.redeem(), s.take_back()],
        lambda outcomes: kinds(outcomes) in [["Invitation", "refused"], ["Invite", "refused"]],
    ),
    "the last free place is for one key": (
        lambda s: [s.make_key(), s.make_key()],
        lambda outcomes: kinds(outcomes) == [MadeKey.__name__, "refused"],
    ),
    "a new agent is of an account that stays, or ends with it, or is not made": (
        lambda s: [s.create(), s.delete()],
        lambda outcomes: isinstance(outcomes[0], Onboarded | Refused) and outcomes[1] is None,
    ),
    "a bootstrap token goes with the account or is not made": (
        lambda s: [s.ask_for_token(), s.delete()],
        lambda outcomes: isinstance(outcomes[0], IssuedToken | Refused) and outcomes[1] is None,
    ),
    "a deletion is cancelled or carried out": (
        lambda s: [s.keep(), s.delete()],
        lambda outcomes: isinstance(outcomes[0], DeletionStatus | Refused) and outcomes[1] is None,
    ),
}


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[TestRegistry, Director]]:
    async with (
        open_copy(database_farm, tmp_path_factory.mktemp("stage"), genesis_grant_enabled=False) as registry,
        directing(registry.database.dsn, 2) as director,
    ):
        yield registry, director


async def set_scene(registry: TestRegistry) -> Scene:
    """Everybody is new; no deletion but this one is due."""
    name = f"leaver{next(_numbers)}"
    admitted = await people.admit_administrator(
        name=name, email=f"{name}@example.org", password=PASSWORD, areas=["admin_support"]
    )

    async def prepare(tx: Tx) -> Scene:
        await tx.execute("UPDATE people_deletion SET next_try_at = 'infinity'")
        developer = Developer(
            id=await people.create_administrator(tx, admitted),
            email=admitted.email,
            session="test",
            is_verified=True,
            areas=frozenset({"admin_support"}),
            is_admin=True,
        )
        for _ in range(KEYS_PER_ACCOUNT - 1):
            await make_key(tx, developer, name="One", scopes=None, ttl_days=1)
        token = await issue_bootstrap_token(
            tx,
            developer,
            agent_type_hint=None,
            requested_by=None,
            lifetime_seconds=300,
            is_suspended=is_suspended_or_closed,
            organizations=CREATION,
        )
        (invite,) = await make_invites(
            tx,
            developer,
            count=1,
            grants_admin=False,
            flags=None,
            max_uses=1,
            lifetime_days=1,
            note=None,
        )
        await tx.execute(
            "INSERT INTO people_deletion (developer_id, status, effective_at, next_try_at)"
            " VALUES ($1, 'requested', now(), now())",
            developer.id,
        )
        return Scene(registry, developer, token.token, invite.code)

    return await registry.database.transaction(prepare)


@pytest.mark.parametrize("name", MET)
async def test_however_acts_on_accounts_meet_what_holds_of_them_holds(
    name: str, stage: tuple[TestRegistry, Director]
):
    registry, director = stage
    sides, is_right = MET[name]

    async def play(choose: Choose) -> None:
        scene = await set_scene(registry)
        outcomes = await director.play(sides(scene), choose)
        assert is_right(outcomes), outcomes
        status = await scene.value("SELECT status FROM people_deletion WHERE developer_id = $1")
        is_closed = await scene.value("SELECT closed_at IS NOT NULL FROM people_developer WHERE id = $1")
        assert is_closed == (status == "processing")
        tokens = "SELECT count(*) FROM agents_bootstrap_token WHERE developer_id = $1 AND used_at IS NULL"
        assert not is_closed or await scene.value(tokens) == 0
        assert await scene.value(_LIVING_AGENTS_OF_A_CLOSED_ACCOUNT) == 0
        keys = "SELECT count(*) FROM people_api_key WHERE developer_id = $1 AND revoked_at IS NULL"
        assert await scene.value(keys) <= KEYS_PER_ACCOUNT

    await in_some_orders(play, count=SAMPLE, seed=printed_seed())

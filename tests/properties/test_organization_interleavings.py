"""Acts in one organization that meet, in many orders of their statements: owners who leave, tokens used twice, rights that end."""

from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count
from typing import Any, TypeAlias

import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import bar_author
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.errors import OrgRoleRequired, Refused
from hansa.foundation.values.secrets import fingerprint
from hansa.rooms import agents, catalogue
from hansa.rooms.agents.errors import NotTheOwner
from hansa.rooms.catalogue.errors import CardNotYours
from hansa.rooms.catalogue.owning.edit import CardEdit, Editor, edit_card
from hansa.rooms.catalogue.owning.ownership import ownership_in
from hansa.rooms.catalogue.signatures import SignaturePolicy
from hansa.rooms.enforcement.developers import is_suspended_or_closed
from hansa.rooms.enforcement.organizations import suspend_organization
from hansa.rooms.organizations import errors, rules
from hansa.rooms.organizations.appointments import store as appointments
from hansa.rooms.organizations.appointments.acts import veto
from hansa.rooms.organizations.appointments.carrying_out import carry_out_due
from hansa.rooms.organizations.fleet import CREATION
from hansa.rooms.organizations.founding import NewOrganization, found
from hansa.rooms.organizations.invitations import acts as invitations
from hansa.rooms.organizations.invitations import store as invitation_store
from hansa.rooms.organizations.members.acts import change_member
from hansa.rooms.organizations.records import Acting, Changed
from hansa.rooms.organizations.requests import acts as requests
from hansa.rooms.organizations.requests.kinds import kinds_of
from hansa.rooms.organizations.rules import APPOINTMENT_NOTICE, INVITATION_LIFETIME, Role
from tests.founded import open_copy
from tests.properties.interleaving import Choose, Director, UseCase, directing, in_some_orders
from tests.properties.scale import by_tier, printed_seed
from tests.registry import DatabaseFarm, TestRegistry, card_of

ORDERS = by_tier(12, 200, 2_000)
Outcomes: TypeAlias = list[Any]
_numbers = count(1)


class Scene:
    """A new organization with two owners and an admin."""

    def __init__(self, registry: TestRegistry, people: list[Developer]) -> None:
        self.registry = registry
        self.founder, self.second, self.admin, self.guest = people
        self.slug = f"meeting-{next(_numbers)}"
        self.id: Any = None
        self.agent = ""

    async def run(self, use_case: UseCase) -> Any:
        return await self.registry.database.transaction(use_case)

    async def prepare(self) -> "Scene":
        new = NewOrganization(self.slug, "Meeting", "", "private")
        self.id = (
            await self.run(lambda tx: found(tx, self.founder, new, self.registry.settings))
        ).organization.id
        for person, role in ((self.second, 4), (self.admin, 3)):
            await self.registry.database.transaction(
                lambda tx, person=person, role=role: tx.execute(
                    "INSERT INTO organizations_member (organization_id, developer_id, role) VALUES ($1, $2, $3)",
                    self.id,
                    person.id,
                    role,
                )
            )
        return self

    async def with_agent(self) -> "Scene":
        """The organization has an agent of the founder's."""
        self.agent = f"did:hansa:meeting-{next(_numbers)}"
        await self.registry.database.transaction(
            lambda tx: tx.execute(
                "INSERT INTO agents_agent (did, developer_id, organization_id, client_id, client_secret_sha256, name, roles)"
                " VALUES ($1, $2, $3, 'agent-' || lpad($4::text, 16, '0'), $5, 'Agent', '{}')",
                self.agent,
                self.founder.id,
                self.id,
                str(next(_numbers)),
                fingerprint("secret"),
            )
        )
        return self

    def by(self, who: Developer) -> Acting:
        return Acting.by(self.registry.runtime, who)

    def change(self, who: Developer, member: Developer, role: Role | None) -> UseCase:
        return lambda tx: change_member(tx, self.by(who), self.slug, member.id, role)

    def approve(self, who: Developer, asked: Any) -> UseCase:
        kinds = kinds_of(self.registry.runtime)
        return lambda tx: requests.approve(tx, self.by(who), kinds, self.slug, asked.request.id)

    def rotate(self, who: Developer) -> UseCase:
        return lambda tx: agents.rotate_secret(tx, who, self.agent, f"hsk_{next(_numbers)}")

    async def with_card(self) -> "Scene":
        """The organization has an agent with a card."""
        await self.with_agent()
        await self.run(
            lambda tx: catalogue.publish_card(
                tx,
                did=self.agent,
                developer_id=self.founder.id,
                card_data=card_of(name="Before"),
                settings=self.registry.settings,
                organization_id=self.id,
            )
        )
        return self

    def edit(self, who: Developer) -> UseCase:
        """Write another card."""
        policy = SignaturePolicy.of(self.registry.settings)
        editor = Editor(who.id, self.agent, lambda _: None, policy)
        change = CardEdit(card_of(name="After"), None)
        return lambda tx: edit_card(tx, editor, change, ownership_in(self.registry.runtime))

    def change_and_read(self, member: Developer, role: Role | None) -> UseCase:
        """Change a member, and read the name on the card once that is done."""

        async def act(tx: Tx) -> Any:
            await self.change(self.founder, member, role)(tx)
            return await catalogue.name_of_agent(tx, self.agent)

        return act

    def accept(self, token: str) -> UseCase:
        return lambda tx: invitations.accept(tx, self.guest, token)

    async def invited(self) -> str:
        """The token of an invitation to the guest, by the admin."""
        token = f"oit_{next(_numbers)}"
        await self.run(
            lambda tx: invitation_store.insert(
                tx,
                self.id,
                email=self.guest.email,
                role=Role.MEMBER,
                team_ids=(),
                token_sha256=fingerprint(token),
                invited_by=self.admin.id,
                lifetime=INVITATION_LIFETIME,
            )
        )
        return token

    async def bootstrap_token(self) -> str:
        """A token of the admin for an agent of the organization."""

        async def issue(tx: Tx) -> str:
            issued = await agents.issue_bootstrap_token(
                tx,
                self.admin,
                agent_type_hint=None,
                requested_by=None,
                lifetime_seconds=300,
                is_suspended=is_suspended_or_closed,
                organization=self.slug,
                organizations=CREATION,
            )
            return issued.token

        return str(await self.run(issue))

    def create(self, token: str) -> UseCase:
        settings = self.registry.settings
        asked = agents.Onboarding(
            token, agents.new_identity(settings, None), host=None, card=card_of("Born"), site="203.0.113.1"
        )
        return lambda tx: agents.create_agent(tx, asked, settings, is_suspended_or_closed, CREATION)

    async def statuses(self) -> list[str]:
        """The statuses of the agents of the organization."""
        return [agent.status for agent in await self.run(lambda tx: agents.of_organization(tx, self.id))]

    async def bar(self, who: Developer) -> None:
        await self.run(lambda tx: bar_author(tx, who.id))

    async def appointed(self) -> None:
        """The guest is appointed as an owner, and the notice has ended."""
        administrator = await person(self.registry)
        await self.run(
            lambda tx: appointments.insert(
                tx,
                self.id,
                self.guest.id,
                reason="Lost.",
                administrator_id=administrator.id,
                notice=-APPOINTMENT_NOTICE,
            )
        )

    async def roles(self) -> dict[int, int]:
        rows = await self.registry.database.query(
            lambda tx: tx.fetch(
                "SELECT developer_id, role FROM organizations_member WHERE organization_id = $1 AND role IS NOT NULL",
                self.id,
            )
        )
        return {row["developer_id"]: row["role"] for row in rows}

    async def secret_seen_by(self) -> int | None:
        return await self.registry.database.query(
            lambda tx: tx.fetchval("SELECT secret_seen_by FROM agents_agent WHERE did = $1", self.agent)
        )


def kinds(outcomes: Outcomes) -> list[str]:
    """The names of the refusals and of what was returned."""
    return sorted(type(one).__name__ for one in outcomes)


async def _owners_leave(scene: Scene) -> tuple[list[UseCase], Callable[[Outcomes], Awaitable[None]]]:
    async def judge(outcomes: Outcomes) -> None:
        assert kinds(outcomes) == [Changed.__name__, errors.LastOwner.__name__]
        assert list((await scene.roles()).values()).count(Role.OWNER) == 1

    sides = [scene.change(one, one, None) for one in (scene.founder, scene.second)]
    return sides, judge


async def _owners_step_down_and_leave(
    scene: Scene,
) -> tuple[list[UseCase], Callable[[Outcomes], Awaitable[None]]]:
    _, judge = await _owners_leave(scene)
    return [
        scene.change(scene.founder, scene.founder, Role.ADMIN),
        scene.change(scene.second, scene.second, None),
    ], judge


async def _token_is_used_twice(scene: Scene) -> tuple[list[UseCase], Callable[[Outcomes], Awaitable[None]]]:
    token = await scene.invited()

    async def judge(outcomes: Outcomes) -> None:
        assert kinds(outcomes) == [errors.InvitationUnknown.__name__, "Shown"]
        assert (await scene.roles())[scene.guest.id] == Role.MEMBER

    return [scene.accept(token), scene.accept(token)], judge


async def _inviter_loses_the_role(
    scene: Scene,
) -> tuple[list[UseCase], Callable[[Outcomes], Awaitable[None]]]:
    token = await scene.invited()

    async def judge(outcomes: Outcomes) -> None:
        assert isinstance(outcomes[1], Changed)
        is_refused = isinstance(outcomes[0], errors.InvitationUnknown)
        assert is_refused == (scene.guest.id not in await scene.roles())

    return [scene.accept(token), scene.change(scene.founder, scene.admin, Role.MEMBER)], judge


async def _leaver_reads_a_secret(
    scene: Scene,
) -> tuple[list[UseCase], Callable[[Outcomes], Awaitable[None]]]:
    await scene.with_agent()

    async def judge(outcomes: Outcomes) -> None:
        rotated, removed = outcomes
        assert isinstance(removed, Changed)
        has_read = await scene.secret_seen_by() == scene.admin.id
        assert has_read == isinstance(rotated, str)
        assert has_read or isinstance(rotated, NotTheOwner)
        # A secret that the leaver has read is named by the answer to the removal.
        assert removed.secrets_to_rotate == ((scene.agent,) if has_read else ())

    return [scene.rotate(scene.admin), scene.change(scene.founder, scene.admin, None)], judge


async def _card_is_edited_by_one_who_is_removed(
    scene: Scene, role: Role | None = None
) -> tuple[list[UseCase], Callable[[Outcomes], Awaitable[None]]]:
    await scene.with_card()

    async def judge(outcomes: Outcomes) -> None:
        edited, name_at_removal = outcomes
        is_refused = isinstance(edited, Refused)
        assert not is_refused or isinstance(edited, CardNotYours if role is None else OrgRoleRequired)
        # Every write precedes the removal: nothing comes after it.
        assert name_at_removal == ("Before" if is_refused else "After")

    return [scene.edit(scene.admin), scene.change_and_read(scene.admin, role)], judge


async def _card_is_edited_by_one_who_becomes_a_viewer(
    scene: Scene,
) -> tuple[list[UseCase], Callable[[Outcomes], Awaitable[None]]]:
    return await _card_is_edited_by_one_who_is_removed(scene, Role.VIEWER)


async def _owner_approves_and_leaves(
    scene: Scene,
) -> tuple[list[UseCase], Callable[[Outcomes], Awaitable[None]]]:
    asked = await scene.run(scene.change(scene.founder, scene.admin, Role.OWNER))
    approve = scene.approve(scene.second, asked)

    async def judge(outcomes: Outcomes) -> None:
        approved, _ = outcomes
        is_executed = not isinstance(approved, Refused)
        assert ((await scene.roles())[scene.admin.id] == Role.OWNER) == is_executed
        assert is_executed or isinstance(approved, errors.OrganizationUnknown)

    return [approve, scene.change(scene.second, scene.second, None)], judge


async def _two_owners_approve(
    scene: Scene,
) -> tuple[list[UseCase], Callable[[Outcomes], Awaitable[None]]]:
    asked = await scene.run(scene.change(scene.founder, scene.admin, Role.OWNER))
    approve = scene.approve(scene.second, asked)

    async def judge(outcomes: Outcomes) -> None:
        assert kinds(outcomes) == ["Reading", errors.RequestEnded.__name__]
        assert (await scene.roles())[scene.admin.id] == Role.OWNER

    return [approve, approve], judge


async def _notice_ends_and_an_owner_vetoes(
    scene: Scene,
) -> tuple[list[UseCase], Callable[[Outcomes], Awaitable[None]]]:
    await scene.bar(scene.founder)
    await scene.appointed()

    async def judge(outcomes: Outcomes) -> None:
        is_vetoed = not isinstance(outcomes[1], errors.AppointmentUnknown)
        assert ((await scene.roles()).get(scene.guest.id) == Role.OWNER) != is_vetoed

    return [carry_out_due, lambda tx: veto(tx, scene.second, scene.slug)], judge


async def _two_jobs_carry_an_appointment_out(
    scene: Scene,
) -> tuple[list[UseCase], Callable[[Outcomes], Awaitable[None]]]:
    await scene.bar(scene.founder)
    await scene.appointed()

    async def judge(outcomes: Outcomes) -> None:
        assert outcomes == [None, None]
        assert (await scene.roles())[scene.guest.id] == Role.OWNER

    return [carry_out_due, carry_out_due], judge


async def _agent_is_born_while_the_organization_is_suspended(
    scene: Scene,
) -> tuple[list[UseCase], Callable[[Outcomes], Awaitable[None]]]:
    token, enforcer = await scene.bootstrap_token(), await person(scene.registry)

    async def judge(outcomes: Outcomes) -> None:
        is_refused = isinstance(outcomes[0], errors.OrganizationNotActive)
        assert is_refused or not isinstance(outcomes[0], Exception), outcomes[0]
        assert await scene.statuses() == ([] if is_refused else ["suspended"])

    return [
        scene.create(token),
        lambda tx: suspend_organization(tx, scene.slug, enforcer, reason="Spam."),
    ], judge


async def _agent_is_born_while_its_creator_loses_the_role(
    scene: Scene,
) -> tuple[list[UseCase], Callable[[Outcomes], Awaitable[None]]]:
    token = await scene.bootstrap_token()

    async def judge(outcomes: Outcomes) -> None:
        created, removed = outcomes
        is_refused = isinstance(created, errors.OrganizationUnknown)
        assert is_refused or not isinstance(created, Exception), created
        assert await scene.statuses() == ([] if is_refused else ["active"])
        # A secret that the leaver has read is named by the answer to the removal.
        assert len(removed.secrets_to_rotate) == (0 if is_refused else 1)

    return [scene.create(token), scene.change(scene.founder, scene.admin, None)], judge


async def _two_agents_are_born_where_one_has_room(
    scene: Scene,
) -> tuple[list[UseCase], Callable[[Outcomes], Awaitable[None]]]:
    tokens = [await scene.bootstrap_token() for _ in range(2)]

    async def judge(outcomes: Outcomes) -> None:
        assert kinds(outcomes) == ["LimitReached", "Onboarded"]
        assert await scene.statuses() == ["active"]

    return [scene.create(token) for token in tokens], judge


MEETINGS = {
    "a card is edited before its editor is removed, or not at all": _card_is_edited_by_one_who_is_removed,
    "a card is edited before its editor becomes a viewer, or not at all": _card_is_edited_by_one_who_becomes_a_viewer,
    "a veto or the end of the notice counts, never both": _notice_ends_and_an_owner_vetoes,
    "an appointment is carried out once": _two_jobs_carry_an_appointment_out,
    "an agent that is born is suspended with its organization": _agent_is_born_while_the_organization_is_suspended,
    "an agent is born by an admin whose secret is named, or not at all": _agent_is_born_while_its_creator_loses_the_role,
    "two agents that are born count each other": _two_agents_are_born_where_one_has_room,
    "of two owners who leave one stays": _owners_leave,
    "an owner steps down while the other leaves": _owners_step_down_and_leave,
    "a token makes one member": _token_is_used_twice,
    "an invitation counts while its inviter is an admin": _inviter_loses_the_role,
    "a secret that a leaver reads is named or is not read": _leaver_reads_a_secret,
    "an approval counts before its owner leaves or not at all": _owner_approves_and_leaves,
    "a double approval is carried out once": _two_owners_approve,
}


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[TestRegistry, Director]]:
    async with (
        open_copy(database_farm, tmp_path_factory.mktemp("stage")) as registry,
        directing(registry.database.dsn, 2) as director,
    ):
        yield registry, director


async def person(registry: TestRegistry) -> Developer:
    """A developer with a login."""
    opened = await registry.developer()
    number = await registry.database.query(
        lambda tx: tx.fetchval("SELECT id FROM people_developer WHERE email = $1", opened.email)
    )
    return Developer(number, opened.email, "session", True, frozenset(), False)


@pytest.mark.parametrize("name", MEETINGS)
async def test_however_acts_in_an_organization_meet_each_counts_or_is_refused(
    name: str, stage: tuple[TestRegistry, Director], monkeypatch: pytest.MonkeyPatch
):
    registry, director = stage
    monkeypatch.setattr(rules, "AGENTS_MAX", 1)

    async def play(choose: Choose) -> None:
        scene = await Scene(registry, [await person(registry) for _ in range(4)]).prepare()
        sides, judge = await MEETINGS[name](scene)
        await judge(await director.play(sides, choose))

    await in_some_orders(play, count=ORDERS, seed=printed_seed())

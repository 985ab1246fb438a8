"""Rights of members: every role, with every grant of a team, at every operation on an agent or an organization."""

import re
import tomllib
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from hansa.doors.reference_map import empty_app, entrances
from tests.hostile.credentials import cookie_of, let_it_stake
from tests.hostile.well_formed import EVERYTHING_ON, Stage, WellFormed, set_stage, well_formed
from tests.house.rights import read_rights
from tests.organizations import Organization, found
from tests.registry import DatabaseFarm, open_registry

TABLE: dict[str, Any] = tomllib.loads(
    (Path(__file__).parents[1] / "house" / "organization_rights.toml").read_text()
)
ROLES = ("viewer", "member", "admin", "owner")
GRANTS = ("none", "read", "operate", "manage")
LEVELS = ("read", "operate", "manage", "end")
REFUSED = 403
CODES = {"ORG_ROLE_REQUIRED", "NOT_AN_APPROVER"}
"""A missing role or grant; the rules of a treasury name its approvers."""
OF_THE_OWNER = {row.operation: row.expected for row in read_rights()}
OF_AGENTS = {"did", "agent_did", "card_id", "approval_id"}
OF_PARTIES = {"contract_id", "dispute_id"}
TAKES_A_PERSON = ("developer", "a person", "a form of")


@dataclass(frozen=True)
class Cell:
    """One operation asked by a member with a role and a grant."""

    operation: str
    role: str
    grant: str
    is_allowed: bool

    @property
    def expected(self) -> str:
        if self.is_allowed:
            return OF_THE_OWNER[self.operation]["browser_session" if self.is_page else "developer"]
        return str(TABLE["refused"].get(self.operation, REFUSED))

    @property
    def is_page(self) -> bool:
        return not self.operation.split()[1].startswith("/api/")

    def deviation(self, answer: httpx2.Response) -> str | None:
        """Return how the answer differs from the table; None where it does not."""
        status = str(answer.status_code)
        is_expected = status == self.expected or (self.expected == "2xx" and answer.is_success)
        is_plain = self.is_allowed or self.is_page or answer.json()["error"]["code"] in CODES
        if is_expected and is_plain:
            return None
        return f"{self.operation} by {self.role} with {self.grant}: {status} instead of {self.expected}: {answer.text[:300]}"


def cells_of_agents() -> Iterator[Cell]:
    for group, role, grant in product(TABLE["agents"], ROLES, GRANTS):
        held = TABLE["rights"][role][grant]
        for operation in group["operations"]:
            yield Cell(operation, role, grant, LEVELS.index(held) >= LEVELS.index(group["right"]))


def cells_of_organizations() -> Iterator[Cell]:
    for group, role, grant in product(TABLE["organizations"], ROLES, GRANTS):
        for operation in group["operations"]:
            yield Cell(operation, role, grant, ROLES.index(role) >= ROLES.index(group["role"]))


@dataclass(frozen=True)
class Scene:
    """The stage whose agents belong to an organization of somebody else, of which the staged developer is a member."""

    stage: Stage
    guild: Organization
    cookie: dict[str, str]

    async def run(self, statement: str, *values: Any) -> None:
        await self.stage.registry.database.transaction(lambda tx: tx.execute(statement, *values))

    async def place(self, role: str, grant: str) -> None:
        """Give the staged developer this role in every organization, and a team with this grant at every agent."""
        await self.run(
            "UPDATE organizations_member SET role = $2 FROM people_developer d"
            " WHERE d.id = developer_id AND d.email = $1 AND role IS NOT NULL",
            self.stage.developer.email,
            ROLES.index(role) + 1,
        )
        await self.run("DELETE FROM organizations_team WHERE slug = 'granted'")
        if grant != "none":
            await self.run(
                "WITH team AS (INSERT INTO organizations_team (id, organization_id, slug, held_right)"
                " VALUES ($1, $2::text::uuid, 'granted', $3) RETURNING id),"
                " placed AS (INSERT INTO organizations_team_member SELECT team.id, d.id FROM team, people_developer d"
                " WHERE d.email = $4)"
                " INSERT INTO organizations_team_agent SELECT team.id, a.did FROM team, agents_agent a"
                " WHERE a.organization_id = $2::text::uuid AND a.kind = 'agent'",
                uuid4(),
                self.guild.created["id"],
                GRANTS.index(grant),
                self.stage.developer.email,
            )

    async def ready(self, operation: str) -> WellFormed:
        """A request for the operation, prepared by an owner."""
        await self.place("owner", "none")
        return await well_formed(operation, self.stage)

    async def ask(self, request: WellFormed, cell: Cell) -> httpx2.Response:
        """Send the request as the member of the cell."""
        await self.place(cell.role, cell.grant)
        await self.run("UPDATE people_session SET proved_at = now() WHERE browser_token_hash IS NOT NULL")
        await self.run("DELETE FROM plumbing_rate_limit")
        headers = self.cookie if cell.is_page else self.stage.developer.headers
        return await request.send(self.stage.registry, headers)

    async def deviations(self, cells: Iterator[Cell]) -> list[str]:
        """What differs from the table, in the order of the operations."""
        found, request, asked = [], None, ""
        for cell in sorted(cells, key=lambda cell: (cell.operation, cell.is_allowed)):
            if request is None or asked != cell.operation:
                request, asked = await self.ready(cell.operation), cell.operation
            answer = await self.ask(request, cell)
            found.append(cell.deviation(answer))
            # A request that was not carried out is as good for the next member.
            if answer.status_code < 400:
                request = None
        return [one for one in found if one]


@pytest.fixture(scope="module")
async def scene(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Scene]:
    directory = tmp_path_factory.mktemp("members")
    async with open_registry(await database_farm.fresh(), directory, **EVERYTHING_ON) as registry:
        stage = await set_stage(registry)
        await let_it_stake(stage, stage.agent)
        guild = await found(registry)
        staged = Scene(stage, guild, dict(await cookie_of(registry, stage.developer)))
        await staged.run(
            "INSERT INTO organizations_member (organization_id, developer_id, role)"
            " SELECT $1::text::uuid, id, 4 FROM people_developer WHERE email = $2",
            guild.created["id"],
            stage.developer.email,
        )
        for table in ("agents_agent", "catalogue_card"):
            await staged.run(
                f"UPDATE {table} SET organization_id = $1::text::uuid WHERE did = ANY ($2)",
                guild.created["id"],
                [stage.agent.did, stage.spare.did, stage.doomed.did],
            )
        yield staged


async def test_a_member_does_with_an_agent_what_role_and_teams_allow(scene: Scene):
    found = await scene.deviations(cells_of_agents())
    assert not found, "\n".join(found)


async def test_a_member_does_in_the_organization_what_the_role_allows(scene: Scene):
    found = await scene.deviations(cells_of_organizations())
    assert not found, "\n".join(found)


def concerned(path: str) -> bool:
    """Return whether the path names an organization, or an agent that a person has."""
    names = set(re.findall(r"\{(\w+)", path))
    if path.startswith(("/api/v1/organizations/{", "/account/agents/{", "/account/organizations/{")):
        return True
    is_of_people = path.startswith(("/api/v1/", "/account/")) and not path.startswith("/api/v1/admin/")
    return is_of_people and bool(names & (OF_AGENTS | OF_PARTIES))


def test_every_operation_of_a_person_on_an_agent_or_an_organization_is_in_the_table(tmp_path: Path):
    stated = [
        operation
        for group in (*TABLE["agents"], *TABLE["organizations"])
        for operation in group["operations"]
    ]
    entered = {
        f"{entrance.method} {entrance.path}"
        for entrance in entrances(empty_app(tmp_path))
        if concerned(entrance.path) and any(caller.startswith(TAKES_A_PERSON) for caller in entrance.callers)
    }
    open_to_anyone = {
        f"{entrance.method} {entrance.path}"
        for entrance in entrances(empty_app(tmp_path))
        if entrance.callers == ("anyone",)
    }
    assert len(stated) == len(set(stated))
    assert entered - set(stated) == set()
    assert set(stated) & open_to_anyone == set()

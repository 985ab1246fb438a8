"""Organizations for tests: founded over HTTP, with members who accepted an invitation."""

import re
from dataclasses import dataclass
from typing import Any

import httpx2

from tests.registry import PASSWORD, TestAgent, TestDeveloper, TestRegistry, card_of, text_of

TOKEN = re.compile(r"oit_[0-9a-f]{64}")


async def id_of(who: TestDeveloper) -> int:
    """The id of a developer."""
    return (await who.registry.get("/auth/profile", headers=who.headers)).json()["id"]


def code(answer: httpx2.Response) -> tuple[int, str]:
    """The status and the code of a refusal."""
    return answer.status_code, answer.json()["error"]["code"]


def acting_as(agent: TestAgent, token: str) -> TestAgent:
    """The agent with another token."""
    return TestAgent(agent.registry, agent.did, token, agent.created)


@dataclass
class Organization:
    """An organization by its slug."""

    registry: TestRegistry
    slug: str
    owner: TestDeveloper
    created: dict[str, Any]

    async def send(self, who: TestDeveloper, method: str, path: str = "", **request: Any) -> httpx2.Response:
        """A request below the organization, by this developer."""
        address = f"/api/v1/organizations/{self.slug}{path}"
        return await self.registry.http.request(method, address, headers=who.headers, **request)

    async def read(self, who: TestDeveloper, path: str = "") -> Any:
        """The answer to a reading that is carried out."""
        answer = await self.send(who, "GET", path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def invite(
        self, address: str, role: str = "member", by: TestDeveloper | None = None, **more: Any
    ) -> str:
        """The token of an invitation, as it was mailed."""
        answer = await self.send(
            by or self.owner, "POST", "/invitations", json={"email": address, "role": role, **more}
        )
        assert answer.status_code == 201, answer.text
        return await token_mailed_to(self.registry, address)

    async def member(self, role: str = "member", **more: Any) -> TestDeveloper:
        """A new developer who is a member with this role; owners are made by the founder alone."""
        joining = await self.registry.developer()
        token = await self.invite(joining.email, "admin" if role == "owner" else role, **more)
        accepted = await answer_invitation(joining, "accept", token)
        assert accepted.status_code == 200, accepted.text
        if role == "owner":
            promoted = await self.change(self.owner, joining, "owner")
            assert promoted.status_code == 200, promoted.text
        return joining

    async def change(self, who: TestDeveloper, member: TestDeveloper, role: str) -> httpx2.Response:
        """Ask for another role of a member."""
        return await self.send(who, "PATCH", f"/members/{await id_of(member)}", json={"role": role})

    async def remove(self, who: TestDeveloper, member: TestDeveloper) -> httpx2.Response:
        """Ask for the end of a membership."""
        return await self.send(who, "DELETE", f"/members/{await id_of(member)}")

    async def roles(self) -> dict[int, str]:
        """The role of each member, as the founder reads it."""
        members = await self.read(self.owner, "/members")
        return {member["developer_id"]: member["role"] for member in members["items"]}

    async def approve(self, who: TestDeveloper, request_id: str, **proof: str) -> httpx2.Response:
        """Approve a request with the password."""
        return await self.send(
            who,
            "POST",
            f"/treasury/requests/{request_id}/approve",
            json=proof or {"password": PASSWORD},
        )

    async def agent(self, by: TestDeveloper | None = None) -> TestAgent:
        """An agent of the organization, which an admin created and gave to it."""
        by = by or self.owner
        agent = await by.agent()
        given = await self.send(by, "POST", "/agents", json={"did": agent.did})
        assert given.status_code == 201, given.text
        return agent

    async def born(self, by: TestDeveloper | None = None, **card: Any) -> TestAgent:
        """An agent that belongs to the organization from its creation on, without units."""
        by, elsewhere = by or self.owner, self.registry.elsewhere()
        issued = await self.registry.post(
            "/onboard/bootstrap/request-token",
            json={"organization_id": self.slug},
            headers={**by.headers, **elsewhere},
        )
        assert issued.status_code == 200, issued.text
        created = await self.registry.post(
            "/onboard/create_agent",
            json={"agent_did_method": "hansa", "agent_card": card_of(**card)},
            headers={"Bootstrap-Token": issued.json()["bootstrap_token"], **elsewhere},
        )
        assert created.status_code == 201, created.text
        agent = created.json()
        form = {
            "grant_type": "client_credentials",
            "client_id": agent["client_id"],
            "client_secret": agent["client_secret"],
        }
        token = await self.registry.post("/auth/agent/token", data=form, headers=elsewhere)
        assert token.status_code == 200, token.text
        return TestAgent(self.registry, agent["agent_did"], token.json()["access_token"], agent)


async def token_mailed_to(registry: TestRegistry, address: str) -> str:
    """The token of the newest invitation to the address."""
    mails = [mail for mail in await registry.outbox() if mail["to"] == address]
    found = [TOKEN.search(text_of(mail)) for mail in mails]
    return [match[0] for match in found if match][-1]


async def answer_invitation(who: TestDeveloper, act: str, token: str) -> httpx2.Response:
    """Accept or decline."""
    return await who.registry.post(
        f"/organizations/invitations/{act}", json={"token": token}, headers=who.headers
    )


_numbers = iter(range(1, 10_000))


async def found(registry: TestRegistry, owner: TestDeveloper | None = None, **more: Any) -> Organization:
    """A new organization."""
    owner = owner or await registry.developer()
    slug = more.pop("slug", f"guild-{next(_numbers)}")
    body = {"slug": slug, "name": "Guild of translators", **more}
    answer = await registry.post("/organizations", json=body, headers=owner.headers)
    assert answer.status_code == 201, answer.text
    return Organization(registry, slug, owner, answer.json())

"""Parties of contracts and disputes for which a person acts: an own agent, or the treasury of an organization.

- Own agents act by their routes in the API, with an act token; a treasury by those of its organization, as the person.
- The pages of a treasury stand below its organization alone: those of it as an agent lead there.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeAlias, TypeVar

import msgspec
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.access import Acting, Diverted, SentForm, SignedIn, see_other
from hansa.doors.console.api_acts import ApiAnswer, act_as_person
from hansa.doors.console.organizations.pages import LIST, base_of, held, organization_page
from hansa.doors.console.organizations.treasury_tabs import treasury_tabs
from hansa.doors.console.own_agents.acting import act_as
from hansa.doors.console.own_agents.pages import ACTS, READS, agent_page, own_agent, path_of
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.values.did import DID_MAX_CHARACTERS
from hansa.foundation.values.rights import Right
from hansa.rooms import agents, organizations
from hansa.rooms.organizations import Organization, Role

OF_AGENT, OF_TREASURY = "/account/agents/{did}", "/account/organizations/{organization_id}"
KEY_MAX_CHARACTERS = 64

Handler = TypeVar("Handler", bound=Callable[..., Any])


class OwnAgent(msgspec.Struct, frozen=True):
    """Own agent as a party."""

    request: Request
    person: SignedIn
    agent: agents.OwnedAgent
    is_treasury: ClassVar[bool] = False

    @property
    def did(self) -> str:
        """The DID of the agent."""
        return self.agent.did

    @property
    def name(self) -> str:
        """The name of the agent."""
        return self.agent.name

    @property
    def base(self) -> str:
        """The address below which the pages of its contracts and disputes stand."""
        return path_of(self.agent.did)

    @property
    def may_act(self) -> bool:
        """Return whether the person may act as the agent now."""
        return self.agent.held_right >= Right.OPERATE and self.agent.status == "active"

    def page(
        self, template: str, form: SentForm | None = None, *, status: int = 200, **content: Any
    ) -> HTMLResponse:
        """A page of the party. Raises: OrgRoleRequired."""
        return agent_page(
            self.request,
            f"agreements/{template}",
            self.person,
            self.agent,
            form,
            status=status,
            frame="agent-frame.html",
            party=self,
            **content,
        )

    async def act(self, sender: Acting, path: str, body: Mapping[str, Any] | None = None) -> ApiAnswer:
        """Send an act to the API. Raises: AgentSuspended, AgentRevoked."""
        return await act_as(self.request, sender, self.did, path, body)


class OwnTreasury(msgspec.Struct, frozen=True):
    """Treasury of an organization of the person as a party."""

    request: Request
    person: SignedIn
    organization: Organization
    is_treasury: ClassVar[bool] = True

    @property
    def did(self) -> str:
        """The DID of the treasury."""
        return self.organization.treasury_did

    @property
    def name(self) -> str:
        """The name of the organization."""
        return self.organization.name

    @property
    def base(self) -> str:
        """The address below which the pages of its contracts and disputes stand."""
        return base_of(self.organization)

    @property
    def may_act(self) -> bool:
        """Return whether the person may act for the treasury now."""
        return (self.organization.role or Role.VIEWER) >= Role.ADMIN and self.organization.status == "active"

    def page(
        self, template: str, form: SentForm | None = None, *, status: int = 200, **content: Any
    ) -> HTMLResponse:
        """A page of the party."""
        part = self.request.url.path.removeprefix(LIST).split("/")[2]
        return organization_page(
            self.request,
            f"agreements/{template}",
            self.person,
            self.organization,
            form,
            status=status,
            section="/treasury",
            tabs=treasury_tabs(self.organization, f"/{part}"),
            frame="organizations/treasury-frame.html",
            party=self,
            **content,
        )

    async def act(self, sender: Acting, path: str, body: Mapping[str, Any] | None = None) -> ApiAnswer:
        """Send an act to the API."""
        return await act_as_person(
            self.request, sender, "POST", f"/organizations/{self.organization.slug}{path}", body
        )


Party: TypeAlias = OwnAgent | OwnTreasury


async def party_of(request: Request, person: SignedIn, db: Database, role: Role = Role.VIEWER) -> Party:
    """The party that the address names; `role` is the least that a member needs.

    Raises: AgentUnknown, OrganizationUnknown, OrgRoleRequired, Diverted from the pages of a treasury as an agent.
    """
    if (key := request.path_params.get("organization_id")) is not None:
        if len(key) > KEY_MAX_CHARACTERS:
            raise organizations.OrganizationUnknown
        return OwnTreasury(request, person, await db.read(lambda tx: held(tx, person, key, role)))
    did = request.path_params["did"]
    if len(did) > DID_MAX_CHARACTERS:
        raise agents.AgentUnknown
    agent = await own_agent(db, person, did)
    if agent.is_treasury:
        below = request.url.path.removeprefix(path_of(did))
        raise Diverted(see_other(f"{LIST}/{agent.organization_id}{below}"))
    return OwnAgent(request, person, agent)


def page_of_both(router: APIRouter, path: str) -> Callable[[Handler], Handler]:
    """Declare a page of an agent and of a treasury."""

    def declare(handler: Handler) -> Handler:
        for base in (OF_AGENT, OF_TREASURY):
            router.add_api_route(base + path, handler, methods=["GET"], dependencies=READS)
        return handler

    return declare


def act_of_both(router: APIRouter, path: str) -> Callable[[Handler], Handler]:
    """Declare a form of an agent and of a treasury. An act token is made for an agent alone."""

    def declare(handler: Handler) -> Handler:
        router.add_api_route(OF_AGENT + path, handler, methods=["POST"], dependencies=ACTS)
        router.add_api_route(OF_TREASURY + path, handler, methods=["POST"], dependencies=READS)
        return handler

    return declare

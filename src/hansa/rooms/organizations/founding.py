"""Found, describe and delete an organization. Its treasury is opened and closed in the same commit."""

from collections.abc import Awaitable, Callable, Sequence
from itertools import chain
from typing import Any, TypeAlias
from uuid import uuid4

import msgspec

from hansa.foundation.events import OrganizationCreated
from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_each, read_together
from hansa.foundation.plumbing.storage.joined_reads import reading as reading_of
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.money import format_amount
from hansa.rooms import agents, catalogue, journal, ledger, people

from . import audit, reading, rules, store
from .approvals import store as approvals
from .errors import OrganizationBlocked, SlugTaken
from .invitations import store as invitations
from .records import Organization, Shown
from .requests import store as requests
from .rules import Role
from .teams import store as teams


class NewOrganization(msgspec.Struct, frozen=True):
    """Organization that a developer founds."""

    slug: str
    name: str
    description: str
    visibility: str


async def found(tx: Tx, founder: Developer, new: NewOrganization, settings: Settings) -> Shown:
    """Found an organization with the founder as its owner and a treasury.

    Raises: DeveloperUnverified, SlugRefused, SlugTaken, LimitReached, catalogue.HumanReadableIdTaken.
    """
    agents.require_verified(is_verified=founder.is_verified)
    rules.require_slug(new.slug, settings.registry_name)
    rules.require_room(await store.count_owned(tx, founder.id), rules.OWNED_MAX, "organizations of one owner")
    if await store.is_taken(tx, new.slug, skeleton := people.skeleton(new.slug)):
        raise SlugTaken(field="slug")
    organization_id = uuid4()
    await catalogue.reserve_name(tx, new.slug, organization_id, founder.id)
    treasury_did = await agents.open_treasury(
        tx,
        organization_id=organization_id,
        developer_id=founder.id,
        document=_card_of_treasury(new),
        settings=settings,
    )
    organization = Organization(
        organization_id,
        new.slug,
        new.name,
        new.description,
        new.visibility,
        treasury_did,
        "active",
        await clock.now(tx),
        Role.OWNER,
    )
    await store.insert(tx, organization, skeleton, founder.id)
    await store.join(tx, organization_id, founder.id, Role.OWNER)
    await audit.record(tx, organization_id, founder, "organization.create", new.slug)
    await journal.append(tx, OrganizationCreated(str(organization_id), new.slug, treasury_did))
    return await reading.profile_of(tx, str(organization_id), founder.id)


async def describe(
    tx: Tx,
    developer: Developer,
    key: str,
    *,
    name: str | None,
    description: str | None,
    visibility: str | None,
) -> Shown:
    """Change name, description or visibility. Raises: OrganizationUnknown, OrgRoleRequired, OrganizationNotActive."""
    organization = await reading.locked(tx, key, developer.id, Role.ADMIN)
    await store.update(tx, organization.id, name, description, visibility)
    changed = {"name": name, "description": description, "visibility": visibility}
    await audit.record(tx, organization.id, developer, "organization.change", organization.slug, **changed)
    return await reading.profile_of(tx, str(organization.id), developer.id)


Blockers: TypeAlias = Callable[[Tx, Organization], Awaitable[list[dict[str, Any]]]]


def _of_all_rooms(found: Sequence[Blockers]) -> Blockers:
    async def blockers(tx: Tx, organization: Organization) -> list[dict[str, Any]]:
        return list(chain(*await read_each(tx, [reading_of(of_room, organization) for of_room in found])))

    return blockers


BLOCKERS_ABOVE: Slot[Blockers] = Slot(
    "organizations: what keeps an organization from its end", joined=_of_all_rooms
)


async def delete(tx: Tx, developer: Developer, key: str, runtime: Runtime) -> None:
    """End an organization that owns nothing, with its treasury.

    Raises: OrganizationUnknown, OrgRoleRequired, OrganizationNotActive, OrganizationBlocked, and the errors of `agents.REQUIRE_UNBOUND`.
    """
    organization = await reading.locked(tx, key, developer.id, Role.OWNER)
    if blockers := await blockers_of(tx, organization, runtime):
        raise OrganizationBlocked(members={"blockers": blockers})
    await agents.close_treasury(tx, organization.treasury_did, agents.REQUIRE_UNBOUND.of(runtime))
    await audit.record(tx, organization.id, developer, "organization.delete", organization.slug)
    await invitations.revoke_all(tx, organization.id)
    await requests.cancel_all(tx, organization.id)
    await approvals.replace_tiers(tx, organization.id, ())
    await teams.delete_all(tx, organization.id)
    await store.leave_all(tx, organization.id)
    await store.set_status(tx, organization.id, "deleted")


async def blockers_of(tx: Tx, organization: Organization, runtime: Runtime) -> list[dict[str, Any]]:
    """Agents, units and open acts that keep an organization from being deleted."""
    did = organization.treasury_did
    owned, held, executing, above = await read_together(
        tx,
        lambda tx: agents.of_organization(tx, organization.id),
        lambda tx: ledger.balance_of(tx, did),
        lambda tx: requests.executing_of(tx, organization.id),
        lambda tx: BLOCKERS_ABOVE.of(runtime)(tx, organization),
    )
    found = [
        {"kind": "agent", "agent_did": agent.did, "amount": "1", "detail": "Release the agent or end it."}
        for agent in owned
        if agent.status != "revoked"
    ]
    for kind, amount in (("balance", held.liquid), ("stake", held.staked), ("escrow", held.escrow)):
        if amount:
            detail = "Empty the treasury."
            found.append({"kind": kind, "agent_did": did, "amount": format_amount(amount), "detail": detail})
    if executing:
        detail = "Wait until the other registry has decided."
        found.append({"kind": "request", "agent_did": did, "amount": str(executing), "detail": detail})
    return [*found, *above]


def _card_of_treasury(new: NewOrganization) -> dict[str, Any]:
    return {
        "name": f"Treasury of {new.name}",
        "description": "Account of an organization. It offers no service.",
        "humanReadableId": f"{new.slug}/treasury",
    }

"""Find an organization for a caller: a private one is unknown to everybody who is not a member."""

from collections.abc import Collection, Sequence
from uuid import UUID

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import agents

from . import rules, store
from .errors import OrganizationNotActive, OrganizationUnknown
from .records import Counts, Organization, Shown
from .rules import Role


async def profile_of(tx: Tx, key: str, developer_id: int | None) -> Shown:
    """An organization as the caller sees it. Raises: OrganizationUnknown."""
    found = await store.find(tx, as_key(key), developer_id)
    if found is None or found.status == "deleted" or (found.role is None and found.visibility == "private"):
        raise OrganizationUnknown
    (shown,) = await with_counts(tx, [found])
    return shown


async def held(tx: Tx, key: str, developer_id: int, role: Role) -> Organization:
    """The organization, in which the developer has the role. Raises: OrganizationUnknown, OrgRoleRequired."""
    return _required(await store.find(tx, as_key(key), developer_id), role)


async def locked(tx: Tx, key: str, developer_id: int, role: Role) -> Organization:
    """The same, locked until the transaction ends, and active.

    Raises: OrganizationUnknown, OrgRoleRequired, OrganizationNotActive.
    """
    return require_active(await locked_in_any_status(tx, key, developer_id, role))


async def shared(tx: Tx, key: str, developer_id: int, role: Role) -> Organization:
    """The same, held together with others who do not change it.

    Raises: OrganizationUnknown, OrgRoleRequired, OrganizationNotActive.
    """
    # Read in a statement after the lock, which sees what a rival committed.
    await store.share(tx, as_key(key))
    return require_active(await held(tx, key, developer_id, role))


async def locked_in_any_status(tx: Tx, key: str, developer_id: int, role: Role) -> Organization:
    """The organization, locked until the transaction ends. Raises: OrganizationUnknown, OrgRoleRequired."""
    return _required(await store.find(tx, as_key(key), developer_id, lock=True), role)


async def lock(tx: Tx, organization_id: UUID) -> Organization:
    """An organization that exists, in any status, locked until the transaction ends."""
    found = await store.find(tx, organization_id, None, lock=True)
    if found is None:
        raise OrganizationUnknown
    return found


async def own_organizations(tx: Tx, developer_id: int, *, limit: int, offset: int) -> tuple[list[Shown], int]:
    """A page of the developer's organizations, the oldest first, and how many there are."""
    found, total = await store.of_developer(tx, developer_id, limit=limit, offset=offset)
    return await with_counts(tx, found), total


async def with_counts(tx: Tx, found: Sequence[Organization]) -> list[Shown]:
    """The organizations with their counts."""
    ids = [one.id for one in found]
    counts, counted_agents = await store.counts_of(tx, ids), await agents.counts_of_organizations(tx, ids)
    return [
        Shown(one, Counts(counts[one.id][0], counted_agents.get(one.id, 0), counts[one.id][1]))
        for one in found
    ]


async def names_of(tx: Tx, organization_ids: Collection[UUID]) -> dict[UUID, tuple[str, str]]:
    """Slug and name of each of these organizations."""
    return await store.names_of(tx, organization_ids)


def as_key(text: str) -> UUID | str:
    """Return the id that the text is, or the slug."""
    try:
        return UUID(text)
    except ValueError:
        return text


def require_active(found: Organization) -> Organization:
    """Return an organization that is active. Raises: OrganizationNotActive."""
    if found.status != "active":
        raise OrganizationNotActive(f"The organization is {found.status}.", context={"state": found.status})
    return found


def _required(found: Organization | None, role: Role) -> Organization:
    if found is None or found.role is None or found.status == "deleted":
        raise OrganizationUnknown
    rules.require_role(found.role, role)
    return found

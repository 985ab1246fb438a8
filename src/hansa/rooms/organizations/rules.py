"""Decisions of the organizations room, without I/O."""

import re
from datetime import timedelta
from enum import IntEnum

from .errors import LimitReached, OrgRoleRequired, SlugRefused

SLUG = r"[a-z0-9](?:-?[a-z0-9])*"
SLUG_MIN, SLUG_MAX = 2, 39
OWNED_MAX = 20
MEMBERS_MAX = 500
TEAMS_MAX = 100
AGENTS_MAX = 1000
INVITATIONS_A_DAY = 50
INVITATIONS_OF_ADDRESS_A_DAY = 5
PENDING_REQUESTS_MAX = 100
INVITATION_LIFETIME = timedelta(days=7)
REQUEST_LIFETIME = timedelta(days=7)
REQUEST_DELAY = timedelta(hours=24)
APPOINTMENT_NOTICE = timedelta(days=7)

_SLUG = re.compile(SLUG, re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
# Words of routes, of the registry's own accounts and of pages.
RESERVED = frozenset(
    (
        "account",
        "admin",
        "administration",
        "administrator",
        "agents",
        "api",
        "fee-collector",
        "federation",
        "governance",
        "invitations",
        "market",
        "new",
        "operator",
        "organizations",
        "registry",
        "settings",
        "system",
        "treasury",
        "work",
        "work-orders",
    )
)


class Role(IntEnum):
    """Role of a member; each includes those below it."""

    VIEWER = 1
    MEMBER = 2
    ADMIN = 3
    OWNER = 4

    @property
    def word(self) -> str:
        """The role as requests and answers write it."""
        return self.name.lower()

    @classmethod
    def named(cls, word: str) -> "Role":
        """Return the role that requests write so."""
        return cls[word.upper()]


def require_slug(slug: str, registry_name: str) -> str:
    """Return a slug that an organization may have. Raises: SlugRefused."""
    if not SLUG_MIN <= len(slug) <= SLUG_MAX or _SLUG.fullmatch(slug) is None:
        raise SlugRefused(
            f"slug must have {SLUG_MIN} to {SLUG_MAX} lower-case letters, digits and single hyphens inside, got {slug!r}.",
            field="slug",
        )
    if slug in RESERVED or slug == registry_name or _UUID.fullmatch(slug):
        raise SlugRefused(f"The slug {slug} is reserved; choose another one.", field="slug")
    return slug


def require_role(held: Role, needed: Role) -> None:
    """Raises: OrgRoleRequired."""
    if held < needed:
        raise OrgRoleRequired(
            f"This needs the role {needed.word} in the organization; yours is {held.word}.",
            context={"required_role": needed.word, "role": held.word},
        )


def require_may_change(held: Role, present: Role, new: Role | None) -> None:
    """Require that an admin or owner may give a member below this role, or end the membership. Raises: OrgRoleRequired."""
    require_role(held, Role.ADMIN)
    if held is not Role.OWNER and (present >= held or (new is not None and new > held)):
        require_role(held, Role(min(max(present + 1, new or 0), Role.OWNER)))


def approvals_needed(owners: int) -> int:
    """Return how many owners must agree to a change of owners: more than half of all."""
    return owners // 2 + 1


def require_room(count: int, most: int, noun: str) -> None:
    """Raises: LimitReached."""
    if count >= most:
        raise LimitReached(f"There are at most {most} {noun}.", context={"limit": most})

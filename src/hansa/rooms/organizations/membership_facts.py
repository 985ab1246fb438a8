"""Facts of a person that pages show: the own organizations."""

from uuid import UUID

import msgspec

from hansa.foundation.plumbing.storage.page_facts import PageFact

from .rules import Role

SHOWN_MAX = 20

OWN_ORGANIZATIONS = PageFact(f"""
SELECT json_agg(json_build_object('id', f.id, 'slug', f.slug, 'name', f.name, 'role', f.role) ORDER BY lower(f.name), f.slug)
FROM (SELECT o.id, o.slug, o.name, m.role FROM organizations_member m JOIN organizations_organization o ON o.id = m.organization_id
  WHERE m.developer_id = asked.developer_id AND m.role IS NOT NULL ORDER BY m.joined_at, o.id LIMIT {SHOWN_MAX}) f
""")  # noqa: S608
"""The first organizations of a person, by name, as JSON; null: none."""


class OwnOrganization(msgspec.Struct, frozen=True):
    """Organization of a person, with the role in it."""

    id: UUID
    slug: str
    name: str
    role: Role


def own_organizations_in(fact: str | None) -> list[OwnOrganization]:
    """Return the organizations in the value of `OWN_ORGANIZATIONS`."""
    return msgspec.json.decode(fact, type=list[OwnOrganization]) if fact else []

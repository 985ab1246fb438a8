"""Notice of an appointment to every member and to the developer whom it concerns."""

from collections.abc import Callable

from hansa.foundation.plumbing.jobs.mail_queue import OutgoingMail
from hansa.rooms.organizations import rules
from hansa.rooms.organizations.records import Appointment, Organization


def appointment(
    organization: Organization, appointed: Appointment, base_url: str
) -> Callable[..., OutgoingMail]:
    """The developer is to be an owner, unless an owner vetoes it."""

    def notice(*, to: str, name: str) -> OutgoingMail:
        text = f"""Hello {name},

too few owners of the organization {organization.name} ({organization.slug}) at {base_url} can act, so an administrator of the
registry has appointed the developer {appointed.developer_id} as an owner. Reason:

{appointed.reason}

The appointment takes effect at {appointed.effective_at:%Y-%m-%d %H:%M} UTC. Until then every owner can veto it on
{base_url}/account/organizations/{organization.slug}/members, by a POST to
{base_url}/api/v1/organizations/{organization.slug}/owners/veto, or with
hansa org veto {organization.slug}.
"""
        return OutgoingMail(to, "An owner is appointed to an organization", text, rules.APPOINTMENT_NOTICE)

    return notice

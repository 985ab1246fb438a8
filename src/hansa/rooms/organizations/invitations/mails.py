"""Mail of an invitation. It alone carries the token."""

from datetime import timedelta

from hansa.foundation.plumbing.jobs.mail_queue import OutgoingMail
from hansa.rooms.organizations import rules


def invitation(
    *, to: str, organization: str, slug: str, role: str, token: str, base_url: str
) -> OutgoingMail:
    """The token that makes the receiver a member."""
    text = f"""Hello,

you are invited to the organization {organization} ({slug}) at {base_url}, with the role {role}.

Your invitation token is:

{token}

To accept it, log in to the account with this e-mail address and send the token to
{base_url}/api/v1/organizations/invitations/accept. It works once, within {rules.INVITATION_LIFETIME.days} days.

If you do not want to join, ignore this mail.
"""
    return OutgoingMail(
        to, "Invitation to an organization", text, timedelta(days=rules.INVITATION_LIFETIME.days)
    )

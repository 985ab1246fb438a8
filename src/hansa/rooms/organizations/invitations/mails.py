"""Mail of an invitation. It alone carries the token."""

from datetime import timedelta

from hansa.foundation.plumbing.jobs.mail_queue import OutgoingMail
from hansa.rooms.organizations import rules


def invitation(
    *, to: str, organization: str, slug: str, role: str, token: str, base_url: str
) -> OutgoingMail:
    """The token that makes the receiver a member."""
    text = f"""Hello,

you are invited to the organization {organization} ({slug}), with the role {role}.

Open this link and log in to the account with this e-mail address, to accept or to decline:

{base_url}/account/organizations/invitations#invitation_token={token}

Without scripts, enter this token on that page:

{token}

It works once, within {rules.INVITATION_LIFETIME.days} days. If you have no account yet, sign up with this address first: {base_url}/sign-up

If you do not want to join, ignore this mail.
"""
    return OutgoingMail(
        to, "Invitation to an organization", text, timedelta(days=rules.INVITATION_LIFETIME.days)
    )

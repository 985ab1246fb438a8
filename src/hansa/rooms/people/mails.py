"""Mails of the registry to people. Links lead to the configured address alone, whatever a request says."""

from collections.abc import Callable
from datetime import datetime, timedelta

from hansa.foundation.plumbing.jobs.mail_queue import OutgoingMail, enqueue_mail
from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.storage.database import Tx

from . import store

NOTICE_DAYS = 3


async def notify(tx: Tx, seal: Seal, developer_id: int, notice: Callable[..., OutgoingMail]) -> None:
    """Write a notice to the developer."""
    profile = await store.profile_of(tx, developer_id)
    await enqueue_mail(tx, seal, notice(to=profile.email, name=profile.name))


def verification(*, to: str, name: str, link: str, hours: int) -> OutgoingMail:
    """The link that verifies an address."""
    text = f"""Hello {name},

please confirm your e-mail address by opening this link within {hours} hours:

{link}

If you did not register here, ignore this mail.
"""
    return OutgoingMail(to, "Confirm your e-mail address", text, timedelta(hours=hours))


def new_password(*, to: str, name: str, link: str, minutes: int) -> OutgoingMail:
    """The link that sets a new password."""
    text = f"""Hello {name},

somebody, probably you, has forgotten the password of your account here. Set a new one within {minutes} minutes:

{link}

The link works once. If it was not you, ignore this mail: your password stays as it is.
"""
    return OutgoingMail(to, "Set a new password", text, timedelta(minutes=minutes))


def password_changed(*, to: str, name: str) -> OutgoingMail:
    """Sent after every change."""
    text = f"""Hello {name},

the password of your account here was changed, and everybody was logged out. API keys go on working.

If it was not you, set a new password at once: ask for a link by "forgotten password", or use one of your recovery keys.
"""
    return _notice(to, "Your password was changed", text)


def app_ended(*, to: str, name: str) -> OutgoingMail:
    """Sent when no code of an app is asked for any more."""
    text = f"""Hello {name},

two-factor login with an authenticator app was turned off for your account here.

If it was not you, change your password at once and turn it on again.
"""
    return _notice(to, "Two-factor login was turned off", text)


def two_factor_ended(*, to: str, name: str) -> OutgoingMail:
    """Sent when one factor is enough again."""
    text = f"""Hello {name},

two-factor login of your account here was turned off: the password alone is enough again, and no phone approves logins.

If it was not you, change your password at once and turn it on again.
"""
    return _notice(to, "Two-factor login was turned off", text)


def phone_added(phone: str) -> Callable[..., OutgoingMail]:
    """Sent when a phone may approve logins."""

    def notice(*, to: str, name: str) -> OutgoingMail:
        text = f"""Hello {name},

the phone "{phone}" was added to your account here. It approves logins from now on.

If it was not you, change your password at once and remove the phone at /account/phones.
"""
        return _notice(to, "A phone was added to your account", text)

    return notice


def phone_removed(*, to: str, name: str) -> OutgoingMail:
    """Sent when a phone approves logins no more."""
    text = f"""Hello {name},

a phone was removed from your account here. It approves no logins any more.

If it was not you, change your password at once and look at your phones at /account/phones.
"""
    return _notice(to, "A phone was removed from your account", text)


def phone_logins_paused(*, to: str, name: str) -> OutgoingMail:
    """Sent when phones are asked nothing for an hour."""
    text = f"""Hello {name},

two logins to your account here gave the right password and were then refused on your phone. Your phones are asked about no
login for an hour.

If it was not you who logged in, somebody else has your password: change it at once.
"""
    return _notice(to, "Logins by phone are paused", text)


def recovery_key_used(*, to: str, name: str) -> OutgoingMail:
    """Sent when somebody is about to set a new password with a recovery key."""
    text = f"""Hello {name},

a recovery key of your account here was used. A new password can be set within five minutes.

If it was not you, change your password at once.
"""
    return _notice(to, "A recovery key was used", text)


def deletion_requested(until: datetime) -> Callable[..., OutgoingMail]:
    """Sent when the deletion of the account was requested; `until` is when it happens."""

    def notice(*, to: str, name: str) -> OutgoingMail:
        text = f"""Hello {name},

The deletion of your account was requested. The account and its agents are deleted permanently after
{until:%Y-%m-%d %H:%M} UTC. Until then you stay logged in.

To keep them, cancel the deletion before that time. If you did not request it, also change your password.
"""
        return _notice(to, "Your account is to be deleted", text)

    return notice


def recovery_keys_renewed(*, to: str, name: str) -> OutgoingMail:
    """Sent when new keys were shown."""
    text = f"""Hello {name},

new recovery keys were made for your account here. The old ones are worth nothing any more.

If it was not you, change your password at once and make new ones.
"""
    return _notice(to, "Your recovery keys were replaced", text)


def _notice(to: str, subject: str, text: str) -> OutgoingMail:
    return OutgoingMail(to, subject, text, timedelta(days=NOTICE_DAYS))

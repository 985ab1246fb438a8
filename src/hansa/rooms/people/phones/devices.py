"""Phones of an account: enrolled with a passkey, listed, removed.

- An act takes a login session with the password of the last ten minutes, and a code where an authenticator app is on.
- The challenge of an enrolment carries the code: it is good once, for the session that asked for it, for five minutes.
- A phone keeps its token in a cookie; only the SHA-256 of the token is stored.
"""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.web.caller import API_KEY_SESSION, Developer
from hansa.foundation.values.errors import QuotaReached
from hansa.foundation.values.secrets import fingerprint, new_hex
from hansa.rooms.people import mails, two_factor
from hansa.rooms.people.passwords import prove_password

from . import passkeys, store
from .errors import LoginSessionRequired, PasskeyRefused, PhoneUnknown, RecentPasswordRequired
from .records import Device
from .rules import CHALLENGE_SECONDS, DEVICES_MAX, new_challenge

PROOF_MINUTES = 10
ENROL = "enrol"
TOKEN_PREFIX = "hpd_"  # noqa: S105


@dataclass(frozen=True)
class EnrolledPhone:
    """A new phone with the token for its cookie, which is shown once."""

    device: Device
    token: str = field(repr=False)


async def require_presence(db: Database, developer: Developer, password: str | None) -> None:
    """The caller is in a login session, and gave the password within the last ten minutes, at its login or now.

    Raises: LoginSessionRequired, RecentPasswordRequired, WrongPassword, TooManyRequests, TooManyPasswords.
    """
    require_login_session(developer)
    if password is not None:
        await prove_password(db, developer, password)
        return
    session_id = UUID(developer.session)
    if not await db.query(lambda tx: store.is_proved_recently(tx, developer.id, session_id, PROOF_MINUTES)):
        raise RecentPasswordRequired


def require_login_session(developer: Developer) -> None:
    """Raises: LoginSessionRequired."""
    if developer.session.startswith(API_KEY_SESSION):
        raise LoginSessionRequired


async def begin_enrolment(
    tx: Tx, seal: Seal, settings: Settings, developer: Developer, code: str | None
) -> dict[str, Any] | None:
    """Options for the browser that makes the passkey.

    None when the authenticator app is on and the code is wrong: the caller refuses after the commit, because the try counts.

    Raises: PasskeysUnavailable, QuotaReached, CodesPaused.
    """
    party = passkeys.RelyingParty.of(settings)
    if not await _gave_code(tx, seal, developer, code):
        return None
    user_handle = await store.user_handle_of(tx, developer.id, new_challenge())
    known = await store.devices_of(tx, developer.id)
    _require_room(known)
    challenge = new_challenge()
    await store.pose(
        tx,
        developer.id,
        purpose=ENROL,
        holder=fingerprint(developer.session),
        challenge=challenge,
        seconds=CHALLENGE_SECONDS,
    )
    return passkeys.creation_options(
        party,
        challenge=challenge,
        user_handle=user_handle,
        email=developer.email,
        known=[device.credential_id for device in known],
    )


async def enrol(
    tx: Tx, seal: Seal, settings: Settings, developer: Developer, *, name: str, credential: dict[str, Any]
) -> EnrolledPhone | None:
    """Enrol the browser whose passkey this is.

    None when the passkey is not valid for the challenge of this session, which is used up: the caller refuses after the commit.

    Raises: PasskeysUnavailable, QuotaReached.
    """
    party = passkeys.RelyingParty.of(settings)
    await store.lock_account(tx, developer.id)
    challenge = await store.take(tx, ENROL, fingerprint(developer.session))
    if challenge is None:
        return None
    try:
        made = passkeys.made_passkey(party, credential, challenge)
    except PasskeyRefused:
        return None
    _require_room(await store.devices_of(tx, developer.id))
    token = new_hex(TOKEN_PREFIX)
    device = await store.enrol(
        tx,
        developer.id,
        name=name,
        credential_id=made.credential_id,
        public_key=made.public_key,
        sign_count=made.sign_count,
        cookie_hash=fingerprint(token),
    )
    if device is None:
        return None
    await mails.notify(tx, seal, developer.id, mails.phone_added(name))
    return EnrolledPhone(device, token)


async def list_devices(tx: Tx, developer: Developer) -> list[Device]:
    """The phones of the account, the newest first."""
    return await store.devices_of(tx, developer.id)


async def remove_device(tx: Tx, seal: Seal, developer: Developer, device_id: UUID, code: str | None) -> bool:
    """Remove a phone. With the last one go the logins that wait for it.

    False when the authenticator app is on and the code is wrong: the caller refuses after the commit, because the try counts.

    Raises: PhoneUnknown, CodesPaused.
    """
    if device_id not in {device.id for device in await store.devices_of(tx, developer.id)}:
        raise PhoneUnknown
    if not await _gave_code(tx, seal, developer, code):
        return False
    await store.lock_account(tx, developer.id)
    if not await store.remove_device(tx, developer.id, device_id):
        raise PhoneUnknown
    if not await store.has_devices(tx, developer.id):
        await store.cancel_logins(tx, developer.id)
    await mails.notify(tx, seal, developer.id, mails.phone_removed)
    return True


async def forget_devices(tx: Tx, developer_id: int) -> bool:
    """Remove every phone of an account whose owner proved otherwise who they are; return whether there was one."""
    await store.lock_account(tx, developer_id)
    had = await store.forget_devices(tx, developer_id)
    if had:
        await store.cancel_logins(tx, developer_id)
    return had


def _require_room(known: list[Device]) -> None:
    if len(known) >= DEVICES_MAX:
        raise QuotaReached(f"An account has at most {DEVICES_MAX} phones; remove one first.")


async def _gave_code(tx: Tx, seal: Seal, developer: Developer, code: str | None) -> bool:
    if not await two_factor.is_on(tx, developer.id):
        return True
    return bool(code) and await two_factor.take_code(tx, seal, developer.id, code or "")

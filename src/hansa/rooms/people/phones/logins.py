"""Logins that wait for a phone: asked after the password, decided once, finished by the browser that began them.

- The passkey is judged before the number, so nobody without it learns whether a number is right.
- Any answer uses the challenge up: an approval, a wrong number, a passkey that is not valid, a denial.
- A passkey of the browser that logs in finishes the login too, with a challenge of its own and without a phone.
"""

from enum import Enum
from typing import Any
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.secrets import fingerprint
from hansa.rooms.people import mails

from . import passkeys, store
from .errors import NumberWrong, PasskeyRefused, PhoneLoginEnded, PhoneLoginUnknown
from .records import Device, PhoneLogin
from .rules import CHALLENGE_SECONDS, new_challenge, new_number

LOGIN = "login"


class Answer(Enum):
    """Outcome of an answer of a phone; all of them end the login's wait."""

    APPROVED = "approved"
    WRONG_NUMBER = "wrong_number"
    WRONG_PASSKEY = "wrong_passkey"

    def require_approval(self) -> None:
        """Raises: NumberWrong, PasskeyRefused."""
        if self is Answer.WRONG_NUMBER:
            raise NumberWrong(field="number")
        if self is Answer.WRONG_PASSKEY:
            raise PasskeyRefused(field="assertion")


class Offers(msgspec.Struct, frozen=True):
    """Offers to finish a login with the right password, beside a code: the login that phones were asked about, and options for a passkey."""

    phone: PhoneLogin | None
    passkey: dict[str, Any] | None


async def has_devices(tx: Tx, developer_id: int) -> bool:
    """Return whether the logins of the account are approved on phones."""
    return await store.has_devices(tx, developer_id)


async def ask(tx: Tx, developer_id: int, partial_token: str, *, address: str, user_agent: str) -> bool:
    """Ask the phones of the account about this login; False while another one waits, after five in an hour, and while they are paused."""
    await store.lock_account(tx, developer_id)
    await store.expire_logins(tx, developer_id)
    return await store.ask(
        tx,
        developer_id,
        token_hash=fingerprint(partial_token),
        challenge=new_challenge(),
        number=new_number(),
        address=address,
        user_agent=user_agent,
    )


async def offers(tx: Tx, settings: Settings, developer_id: int, partial_token: str) -> Offers:
    """The offers to finish this login, with a new challenge for a passkey of the browser."""
    token_hash = fingerprint(partial_token)
    phone = await store.login_of_token(tx, token_hash)
    known = await store.devices_of(tx, developer_id)
    if not known or not passkeys.has_passkeys(settings):
        return Offers(phone, None)
    challenge = new_challenge()
    await store.pose(
        tx,
        developer_id,
        purpose=LOGIN,
        holder=token_hash,
        challenge=challenge,
        seconds=CHALLENGE_SECONDS,
    )
    options = passkeys.request_options(
        passkeys.RelyingParty.of(settings),
        challenge=challenge,
        known=[device.credential_id for device in known],
        seconds=CHALLENGE_SECONDS,
    )
    return Offers(phone, options)


async def state_of(tx: Tx, partial_token: str) -> str:
    """The status of the login that phones were asked about; `expired` where there is none such."""
    found = await store.login_of_token(tx, fingerprint(partial_token))
    return found.status if found else "expired"


async def device_of(tx: Tx, token: str) -> Device | None:
    """The phone with this token in its cookie."""
    return await store.device_of_cookie(tx, fingerprint(token))


def passkey_id_of(device: Device) -> str:
    """The id of the passkey of a phone, as browsers write it."""
    return passkeys.encoded(device.credential_id)


async def waiting(tx: Tx, device: Device) -> list[PhoneLogin]:
    """The login that waits for a phone of this account, if one does."""
    found = await store.waiting_login(tx, device.developer_id)
    return [found] if found else []


async def approve(
    tx: Tx,
    seal: Seal,
    settings: Settings,
    device: Device,
    login_id: UUID,
    *,
    number: str,
    assertion: dict[str, Any],
) -> Answer:
    """Approve a login with the number that its page shows and the passkey of this phone.

    The caller commits any answer, and refuses those that are no approval afterwards.

    Raises: PhoneLoginUnknown, PhoneLoginEnded.
    """
    found = await _lock_waiting(tx, device, login_id)
    passkey = await store.lock_device(tx, device)
    if passkey is None:
        raise PhoneLoginUnknown
    party = passkeys.RelyingParty.of(settings)
    try:
        _require_same(passkey.credential_id, assertion)
        sign_count = passkeys.sign_count_of(
            party,
            assertion,
            found.challenge,
            public_key=passkey.public_key,
            sign_count=passkey.sign_count,
        )
    except PasskeyRefused:
        await _decide(tx, login_id, Answer.WRONG_PASSKEY.value)
        return Answer.WRONG_PASSKEY
    answer = Answer.APPROVED if number == found.number else Answer.WRONG_NUMBER
    await _decide(tx, login_id, answer.value)
    is_approved = answer is Answer.APPROVED
    await store.note_use(tx, passkey.id, sign_count, extends_cookie=is_approved)
    if is_approved:
        await store.forget_refusals(tx, device.developer_id)
    else:
        await _count_refusal(tx, seal, device)
    return answer


async def deny(tx: Tx, seal: Seal, device: Device, login_id: UUID, *, not_me: bool) -> None:
    """Deny a login; `not_me` states that somebody else has the password. Raises: PhoneLoginUnknown, PhoneLoginEnded."""
    await _lock_waiting(tx, device, login_id)
    await _decide(tx, login_id, "not_me" if not_me else "denied")
    if not_me:
        await _count_refusal(tx, seal, device)


async def take_passkey(
    tx: Tx, settings: Settings, developer_id: int, partial_token: str, assertion: dict[str, Any]
) -> bool:
    """Take the answer of a passkey in the browser that logs in; False when it is not valid, which the caller commits.

    Raises: PasskeysUnavailable.
    """
    party = passkeys.RelyingParty.of(settings)
    challenge = await store.take(tx, LOGIN, fingerprint(partial_token))
    if challenge is None:
        return False
    try:
        passkey = await store.lock_passkey(tx, developer_id, passkeys.credential_id_of(assertion))
        if passkey is None:
            return False
        sign_count = passkeys.sign_count_of(
            party, assertion, challenge, public_key=passkey.public_key, sign_count=passkey.sign_count
        )
    except PasskeyRefused:
        return False
    await store.note_use(tx, passkey.id, sign_count, extends_cookie=False)
    return True


async def use_approval(tx: Tx, partial_token: str) -> bool:
    """Use the approval of a login, once; False while there is none."""
    return await store.use_approval(tx, fingerprint(partial_token))


async def cancel_login(tx: Tx, partial_token: str) -> None:
    """No phone decides about this login any more: it was finished otherwise."""
    await store.cancel_login(tx, fingerprint(partial_token))


async def cancel_logins(tx: Tx, developer_id: int) -> None:
    """End the logins of the account that wait."""
    await store.cancel_logins(tx, developer_id)


async def _lock_waiting(tx: Tx, device: Device, login_id: UUID) -> PhoneLogin:
    # The row of the account orders the answers of several phones; the status of the login decides among them.
    await store.lock_account(tx, device.developer_id)
    found = await store.login_of(tx, device.developer_id, login_id)
    if found is None:
        raise PhoneLoginUnknown
    return found


async def _decide(tx: Tx, login_id: UUID, status: str) -> None:
    if not await store.decide(tx, login_id, status):
        raise PhoneLoginEnded


def _require_same(credential_id: bytes, assertion: dict[str, Any]) -> None:
    if passkeys.credential_id_of(assertion) != credential_id:
        raise PasskeyRefused


async def _count_refusal(tx: Tx, seal: Seal, device: Device) -> None:
    if await store.count_refusal(tx, device.developer_id):
        await mails.notify(tx, seal, device.developer_id, mails.phone_logins_paused)

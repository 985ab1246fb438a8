"""Login: the right password, and a second factor where the account has one, open a session."""

from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import msgspec

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx

from . import partial_login, passwords, phones, store, two_factor, verify_email
from .errors import EmailUnverified, WrongCredentials
from .passwords import admit_attempt

Opened_co = TypeVar("Opened_co", covariant=True)


class Open(Protocol[Opened_co]):
    """Opens a session of this developer; `gave_code`: the login had a second factor, a code or an approval."""

    def __call__(self, tx: Tx, developer_id: int, /, *, gave_code: bool) -> Awaitable[Opened_co]: ...


class Browser(Protocol):
    """Browser that logs in, for a person to recognise: its own word, and its network address."""

    @property
    def name(self) -> str: ...

    @property
    def address(self) -> str: ...


@dataclass(frozen=True)
class PartialLogin:
    """The password was right; the token waits for a code or an approval."""

    partial_token: str = field(repr=False)


class SecondStep(msgspec.Struct, frozen=True):
    """Second factors that finish a login: a code, the login that phones were asked about, and options for a passkey of the browser."""

    asks_code: bool
    phone: phones.PhoneLogin | None
    passkey: dict[str, Any] | None


async def admit(
    database: Database, seal: Seal, settings: Settings, *, username: str, password: str
) -> store.Account:
    """The account with this e-mail address and password. Where the address is to be verified first, a link is mailed.

    Raises: WrongCredentials, EmailUnverified, TooManyRequests, TooManyPasswords.
    """
    await admit_attempt(database, username)
    found = await database.read(lambda tx: find_account(tx, username))
    account = await require_right_password(found, password)
    if settings.email_verification_required and not account.is_verified:
        await database.transaction(
            lambda tx: verify_email.mail_link_if_due(tx, seal, account, settings.base_url)
        )
        raise EmailUnverified
    return account


async def find_account(tx: Tx, username: str) -> store.Account | None:
    """The account that the username, an e-mail address, names."""
    return await store.account_of(tx, username)


async def require_right_password(account: store.Account | None, password: str) -> store.Account:
    """The account, when the password is its own; needs no transaction and takes as long without an account.

    Raises: WrongCredentials, TooManyPasswords.
    """
    password_hash = account.password_hash if account else passwords.NOBODYS_HASH
    right = await passwords.matches(password, password_hash)
    if account is None or not right:
        raise WrongCredentials
    return account


async def log_in(
    tx: Tx,
    seal: Seal,
    account: store.Account,
    code: str | None,
    open_session: Open[Opened_co],
    *,
    browser: Browser | None = None,
) -> Opened_co | PartialLogin | None:
    """Open a session, or half of one where a second factor is still to come: a code, or an approval on a phone.

    Phones are asked for a login in a `browser` alone. None when the code is wrong: the caller refuses after the commit, because
    the try counts.

    Raises: WrongCredentials when the password was changed since it was looked at, CodesPaused, PushApprovalRequired.
    """
    if not await store.hold_password(tx, account.id, account.password_hash):
        raise WrongCredentials
    asks_code = await two_factor.is_on(tx, account.id)
    if asks_code and code:
        if not await two_factor.take_code(tx, seal, account.id, code):
            return None
        return await open_session(tx, account.id, gave_code=True)
    asks_phone = await phones.has_devices(tx, account.id)
    if asks_phone and browser is None:
        raise phones.PushApprovalRequired
    if not (asks_code or asks_phone):
        return await open_session(tx, account.id, gave_code=False)
    partial_token = await partial_login.begin(tx, account.id)
    if asks_phone and browser is not None:
        await phones.ask(tx, account.id, partial_token, address=browser.address, user_agent=browser.name)
    return PartialLogin(partial_token)


async def second_step_of(tx: Tx, settings: Settings, partial_token: str) -> SecondStep | None:
    """The second factors that finish this login, with a new challenge for a passkey; None when the token is good no more."""
    developer_id = await partial_login.hold(tx, partial_token)
    if developer_id is None:
        return None
    found = await phones.offers(tx, settings, developer_id, partial_token)
    return SecondStep(await two_factor.is_on(tx, developer_id), found.phone, found.passkey)


async def complete(
    tx: Tx, seal: Seal, partial_token: str, code: str, open_session: Open[Opened_co]
) -> Opened_co | None:
    """Open the session of a login that waited for its code.

    None when the token is good no more or the code is wrong: the caller refuses after the commit, because the try counts.

    Raises: CodesPaused.
    """
    developer_id = await partial_login.count_try(tx, partial_token)
    if developer_id is None or not await two_factor.take_code(tx, seal, developer_id, code):
        return None
    return await _finish(tx, partial_token, developer_id, open_session)


async def complete_by_passkey(
    tx: Tx, settings: Settings, partial_token: str, assertion: dict[str, Any], open_session: Open[Opened_co]
) -> Opened_co | None:
    """Open the session of a login in a browser that has a passkey of the account.

    None when the token is good no more or the passkey is not valid: the caller refuses after the commit, because the try counts.

    Raises: PasskeysUnavailable.
    """
    developer_id = await partial_login.count_try(tx, partial_token)
    if developer_id is None or not await phones.take_passkey(
        tx, settings, developer_id, partial_token, assertion
    ):
        return None
    return await _finish(tx, partial_token, developer_id, open_session)


async def complete_by_phone(tx: Tx, partial_token: str, open_session: Open[Opened_co]) -> Opened_co | None:
    """Open the session of a login that a phone approved; None while none has, or when the token is good no more."""
    developer_id = await partial_login.hold(tx, partial_token)
    if developer_id is None or not await phones.use_approval(tx, partial_token):
        return None
    return await _finish(tx, partial_token, developer_id, open_session)


async def _finish(tx: Tx, partial_token: str, developer_id: int, open_session: Open[Opened_co]) -> Opened_co:
    await partial_login.burn(tx, partial_token)
    return await open_session(tx, developer_id, gave_code=True)

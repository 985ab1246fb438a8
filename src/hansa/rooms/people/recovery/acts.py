"""Acts of the API and the web pages on passwords: first the steps without a transaction, then the use case in one.

Forgotten passwords: a link is mailed to the owner of the account.
The request writes down the address and looks nothing up, so that nobody learns from its answer, or from how long it
takes, whether there is an account. A job looks it up when the request has ended.

Change or set a password. All sessions end, and no other right to set it is left; API keys stay.

The right to set a new password: a token that does nothing else, once, and dies with any change of the password.

New recovery keys, when the old ones are used up, lost or seen by somebody.
"""

from datetime import timedelta
from uuid import UUID

from hansa.foundation.plumbing.jobs import Job, TransactionalKind, enqueue
from hansa.foundation.plumbing.jobs.mail_queue import enqueue_mail
from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.keys.tokens import TokenIssuer, TokenKind
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.web.caller import Developer, PasswordSetter
from hansa.foundation.plumbing.web.entity_tags import require_version
from hansa.foundation.plumbing.web.limits import Limit, admit
from hansa.foundation.values.errors import ReplacedMeanwhile, Unauthorized
from hansa.rooms.people import mails, oauth, passwords, recovery_keys, rules, sessions, two_factor
from hansa.rooms.people.errors import RecoveryRefused, WrongPassword
from hansa.rooms.people.passwords import account_key, prove_password

from . import store
from .schemas import ChangePasswordIn, SetPasswordIn

FORGOTTEN_PER_ACCOUNT = Limit("forgotten-account", 3, 3600)
RECOVERIES_PER_ACCOUNT = Limit("recovery-account", 10)
LINK_MINUTES = 60
PAUSE_MINUTES = 5
KIND = "forgotten password"
RECOVERY_SECONDS = 300


async def change_own_password(
    database: Database, seal: Seal, developer: Developer, body: ChangePasswordIn
) -> None:
    """Change the password with the current one.

    Raises: PasswordRefused, WrongPassword, TooManyRequests, TooManyPasswords.
    """
    rules.require_acceptable_password(body.new_password, field="new_password")
    old_hash = await prove_password(database, developer, body.current_password)
    new_hash = await passwords.hashed(body.new_password)
    await database.transaction(lambda tx: change_password(tx, seal, developer, old_hash, new_hash))


async def set_forgotten_password(
    database: Database, seal: Seal, setter: PasswordSetter, body: SetPasswordIn
) -> None:
    """Set a password by a grant. Raises: Unauthorized, PasswordRefused, TooManyPasswords."""
    rules.require_acceptable_password(body.new_password, field="new_password")
    new_hash = await passwords.hashed(body.new_password)
    await database.transaction(lambda tx: set_password(tx, seal, setter, new_hash))


async def forget_password(database: Database, email: str) -> None:
    """Mail a link to the account with this address, if there is one. Raises: TooManyRequests."""
    await admit(database, FORGOTTEN_PER_ACCOUNT, account_key(email))
    await database.transaction(lambda tx: note_forgotten(tx, email))


async def admit_recovery(database: Database, email: str) -> None:
    """Count one try of a recovery key of this address. Raises: TooManyRequests."""
    await admit(database, RECOVERIES_PER_ACCOUNT, account_key(email))


async def note_forgotten(tx: Tx, email: str) -> None:
    """Note that the person with this address, if any, has forgotten the password, and enqueue the mail."""
    noted_id = await store.remember_forgotten(tx, email)
    await enqueue(tx, KIND, str(noted_id), {"id": noted_id})


async def drop_password_requests(tx: Tx) -> None:
    """Write to none of the addresses that were noted."""
    await store.forget_all(tx)


async def _answer(tx: Tx, runtime: Runtime, job: Job) -> None:
    """Write to the owner of the address that was noted, if it has one."""
    email = await store.take_forgotten(tx, job.payload["id"])
    person = None if email is None else await store.claim_reset_mail(tx, email, PAUSE_MINUTES)
    if person is None:
        return
    token = await grant(tx, runtime.tokens, person.id, LINK_MINUTES * 60)
    # Behind the # it stays in the browser: no server, proxy or log sees it.
    link = f"{runtime.settings.base_url}/set-password#token={token}"
    mail = mails.new_password(to=person.email, name=person.name, link=link, minutes=LINK_MINUTES)
    await enqueue_mail(tx, runtime.seal, mail)


async def grant(tx: Tx, tokens: TokenIssuer, developer_id: int, lifetime_seconds: int) -> str:
    """The token that sets the developer's password."""
    granted = await store.add_grant(tx, developer_id, lifetime_seconds)
    return tokens.issue(
        TokenKind.PASSWORD_SET,
        str(granted.developer_id),
        session=str(granted.id),
        now=granted.issued_at,
        lifetime=timedelta(seconds=lifetime_seconds),
    )


FORGOTTEN_PASSWORDS = TransactionalKind(KIND, _answer, is_droppable=True)
"""The jobs that answer forgotten passwords, one for each request."""


async def change_password(tx: Tx, seal: Seal, developer: Developer, old_hash: str, new_hash: str) -> None:
    """Change the password of which `old_hash` was proved. Raises: WrongPassword when it was changed meanwhile."""
    if not await store.change_password(tx, developer.id, old_hash, new_hash):
        raise WrongPassword
    await _end_what_the_old_one_opened(tx, seal, developer.id)


async def set_password(tx: Tx, seal: Seal, setter: PasswordSetter, new_hash: str) -> None:
    """Set the password by a grant. Raises: Unauthorized when the grant was used meanwhile."""
    await store.lock_developer(tx, setter.developer_id)
    if not await store.burn_grant(tx, setter.grant):
        raise Unauthorized
    await store.set_password(tx, setter.developer_id, new_hash)
    await _end_what_the_old_one_opened(tx, seal, setter.developer_id)


async def reset_password(tx: Tx, seal: Seal, developer_id: int, new_hash: str) -> None:
    """Set the password of a locked account, for the operator."""
    await store.set_password(tx, developer_id, new_hash)
    await _end_what_the_old_one_opened(tx, seal, developer_id)


async def recover_account(tx: Tx, seal: Seal, tokens: TokenIssuer, email: str, recovery_key: str) -> str:
    """The token that sets the password of who has this address and recovery key. Raises: RecoveryRefused."""
    developer_id = await recovery_keys.burn_of_address(tx, email, recovery_key)
    if developer_id is None:
        raise RecoveryRefused
    await mails.notify(tx, seal, developer_id, mails.recovery_key_used)
    return await grant(tx, tokens, developer_id, RECOVERY_SECONDS)


async def _end_what_the_old_one_opened(tx: Tx, seal: Seal, developer_id: int) -> None:
    await sessions.end_all(tx, developer_id)
    await oauth.end_grants_of(tx, developer_id, "password_changed")
    await store.burn_grants(tx, developer_id)
    await mails.notify(tx, seal, developer_id, mails.password_changed)


async def check_password_setter(runtime: Runtime, token: str) -> PasswordSetter:
    """Return the developer who may set a password with this token. Raises: Unauthorized when it is not genuine, expired or burnt."""
    claims = runtime.tokens.verify(TokenKind.PASSWORD_SET, token)
    setter = PasswordSetter(int(claims.subject), UUID(claims.session))
    is_good = await runtime.database.query(
        lambda tx: store.grant_is_good(tx, setter.developer_id, setter.grant, claims.expires_at)
    )
    if not is_good:
        raise Unauthorized
    return setter


async def forget_ended(tx: Tx) -> None:
    """Delete the rights that were not used in time."""
    await store.forget_ended(tx)


async def renew_keys(
    tx: Tx, seal: Seal, developer: Developer, code: str | None, if_match: str | None = None
) -> list[str] | None:
    """Replace the recovery keys and return the new ones, shown once.

    None when two-factor login asks for a code and this is none: the caller commits that it was tried, and refuses then.

    Of two at once one is refused: its keys would be dead when they are shown. With `if_match` the keys must be those whose
    version the caller has read.

    Raises: CodesPaused, ReplacedMeanwhile, PreconditionFailed.
    """
    former = await recovery_keys.fingerprints_of(tx, developer.id)
    await store.lock_developer(tx, developer.id)
    if not await recovery_keys.fingerprints_of(tx, developer.id) <= former:
        raise ReplacedMeanwhile
    require_version(if_match, recovery_keys.version_of_keys(former))
    if await two_factor.is_on(tx, developer.id) and not (
        code and await two_factor.take_code(tx, seal, developer.id, code)
    ):
        return None
    await mails.notify(tx, seal, developer.id, mails.recovery_keys_renewed)
    return await recovery_keys.renew(tx, developer.id)

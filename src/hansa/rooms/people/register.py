"""Registration of a developer."""

from dataclasses import replace

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx

from . import invites, passwords, recovery_keys, rules, store, verify_email
from .confusables import readings
from .errors import AgeNotConfirmed, DisplayNameTaken, EmailRegistered, InviteCodeMissing, TermsNotAccepted
from .schemas import RegistrationIn


async def admit(request: RegistrationIn, settings: Settings) -> store.NewDeveloper:
    """The developer that the request asks for, its password hashed; needs no transaction.

    Raises: TermsNotAccepted, AgeNotConfirmed, InviteCodeMissing, PasswordRefused.
    """
    if settings.tos_consent_required and not request.tos_accepted:
        raise TermsNotAccepted(field="tos_accepted")
    if settings.age_confirmation_required and not request.age_confirmed:
        raise AgeNotConfirmed(field="age_confirmed")
    if settings.beta_invite_required and not request.invite_code:
        raise InviteCodeMissing(field="invite_code")
    rules.require_acceptable_password(request.password)
    return await new_developer(
        request,
        is_verified=not settings.email_verification_required,
        tos_version=settings.tos_version if request.tos_accepted else None,
    )


async def new_developer(
    request: RegistrationIn, *, is_verified: bool, tos_version: str | None
) -> store.NewDeveloper:
    """The developer as it will be written; hashing the password takes a while and needs no transaction."""
    as_written, in_lower_case = readings(request.name)
    return store.NewDeveloper(
        name=request.name,
        name_as_written=as_written,
        name_in_lower_case=in_lower_case,
        email=request.email,
        password_hash=await passwords.hashed(request.password),
        is_verified=is_verified,
        age_confirmed=request.age_confirmed,
        tos_version=tos_version,
    )


async def open_account(tx: Tx, developer: store.NewDeveloper) -> int:
    """Write the developer and return the id. Raises: EmailRegistered, DisplayNameTaken."""
    developer_id = await store.add_developer(tx, developer)
    if developer_id is None:
        if await store.account_of(tx, developer.email):
            raise EmailRegistered(field="email")
        raise DisplayNameTaken(field="name")
    return developer_id


async def register(
    tx: Tx, seal: Seal, developer: store.NewDeveloper, base_url: str, *, invite_code: str | None
) -> list[str]:
    """Open the account and return its recovery keys, shown once; an address to be verified gets its link mailed.

    A code is used up by one registration, also where none is required.

    Raises: InviteCodeUnknown, EmailRegistered, DisplayNameTaken.
    """
    invitation = await invites.redeem(tx, invite_code) if invite_code else None
    if invitation:
        developer = replace(developer, areas=invitation.areas)
    developer_id = await open_account(tx, developer)
    if invitation:
        await invites.note_use(tx, invitation, developer_id)
    if not developer.is_verified:
        await verify_email.mail_link(
            tx, seal, developer_id, to=developer.email, name=developer.name, base_url=base_url
        )
    return await recovery_keys.issue(tx, developer_id)

"""The developer's own record, and the acceptance of new terms in it."""

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.errors import Unauthorized

from . import recovery_keys, store
from .errors import TermsNotPresent
from .schemas import ProfileOut


async def own_profile(tx: Tx, developer: Developer, settings: Settings) -> ProfileOut:
    """The developer's own record. Consent is asked again when the terms have another version than was accepted."""
    profile = await store.profile_of(tx, developer.id)
    return ProfileOut(
        id=profile.id,
        name=profile.name,
        email=profile.email,
        role="admin" if developer.areas else "developer",
        is_verified=profile.is_verified,
        is_admin=developer.is_admin,
        created_at=profile.created_at,
        tos_reconsent_required=must_accept_terms(profile.tos_version, settings),
        tos_accepted_at=profile.tos_accepted_at,
        recovery_keys_version=recovery_keys.version_of_keys(frozenset(profile.recovery_key_hashes)),
    )


def must_accept_terms(accepted: str | None, settings: Settings) -> bool:
    """Return whether the consent to the present terms is missing; `accepted` is the version accepted last."""
    return settings.tos_consent_required and accepted != settings.tos_version


async def address_of(tx: Tx, developer_id: int) -> str:
    """The e-mail address of a developer, in lower case."""
    return (await store.profile_of(tx, developer_id)).email.lower()


async def accept_terms(tx: Tx, developer: Developer, version: str, settings: Settings) -> ProfileOut:
    """Record the acceptance of the present terms; a repeated one changes nothing.

    The developer names the version, so that terms published in between are not accepted unread.

    Raises: TermsNotPresent, Unauthorized.
    """
    if version != settings.tos_version:
        raise TermsNotPresent
    if not await store.accept_terms(tx, developer.id, version):
        raise Unauthorized
    return await own_profile(tx, developer, settings)

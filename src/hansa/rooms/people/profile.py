"""What a developer is shown of themselves."""

from hansa.foundation.plumbing.caller import Developer
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.plumbing.settings import Settings

from . import store
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
        tos_reconsent_required=settings.tos_consent_required and profile.tos_version != settings.tos_version,
    )

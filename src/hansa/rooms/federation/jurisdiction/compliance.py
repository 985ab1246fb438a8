"""The block `compliance` of the registry card: the declared profile and the live authorizations, under a signed digest.

- There is no block without a profile and without a live authorization.
- `profile_hash` is over the profile, `digest` over the block without it: `sha256:` and SHA-256 of the house canonical JSON.
- A profile that cannot be read counts as none (specification 2, "Jurisdiction declarations": it fails open).
"""

from typing import Any

import structlog
from pydantic import ValidationError

from hansa.foundation.plumbing.settings import JurisdictionProfile, Settings, read_profile
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.canonical import digest

from . import store
from .records import moment_text

_log = structlog.get_logger()


def declared_profile(settings: Settings) -> JurisdictionProfile | None:
    """The profile of JURISDICTION_PROFILE as the file has it now; None without one."""
    path = settings.jurisdiction_profile
    if path is None:
        return None
    try:
        return read_profile(path)
    except (OSError, ValidationError) as failure:
        _log.error(
            "the jurisdiction profile cannot be read: nothing is declared",
            file=str(path),
            error=type(failure).__name__,
        )
        return None


async def compliance_block(tx: Tx, settings: Settings) -> dict[str, Any] | None:
    """The block as it is now."""
    profile, authorizations = declared_profile(settings), await store.live(tx)
    if profile is None and not authorizations:
        return None
    block = {**_stated(profile), "authorizations": [one.public for one in authorizations]}
    return {**block, "digest": _digest(block)}


def _stated(profile: JurisdictionProfile | None) -> dict[str, Any]:
    if profile is None:
        absent = dict.fromkeys(("profile", "version", "declared_at", "profile_hash"))
        return {**absent, "denied_features": [], "regulated_actions": []}
    declared = {
        "name": profile.name,
        "version": profile.version,
        "declared_at": moment_text(profile.declared_at),
        "denied_features": profile.denied_features,
        "regulated_actions": list(profile.regulated_actions),
    }
    return {
        "profile": declared.pop("name"),
        **declared,
        "profile_hash": _digest({"name": profile.name, **declared}),
    }


def _digest(value: dict[str, Any]) -> str:
    return f"sha256:{digest(value).hex()}"

"""Gate of an act that the operator declared, and the block `compliance` of the registry card.

- An act needs a live authorization of the same action and subject.
- A profile that cannot be read declares nothing; authorizations that cannot be read refuse the act.
- `registry.operation` is recorded and published, and never gated.
- The block states the declared profile and the live authorizations, under a signed digest. There is no block without a
  profile and without a live authorization. A profile that cannot be read counts as none (specification 2, "Jurisdiction
  declarations": it fails open).
- `profile_hash` is over the profile, `digest` over the block without it: `sha256:` and SHA-256 of the house canonical JSON.
"""

from typing import Any

import asyncpg
import msgspec
import structlog
from pydantic import ValidationError

from hansa.foundation.plumbing.settings import JurisdictionProfile, RegulatedAction, Settings, read_profile
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.canonical import digest

from . import store
from .contracts import ReadAttestedContract, problem_of
from .errors import ActParked, AuthorizationsUnreadable
from .records import Authorization, moment_text

NEVER_GATED: RegulatedAction = "registry.operation"
RECORDED_AT = "POST /api/v1/admin/jurisdiction/authorizations"
_log = structlog.get_logger()


class Clearance(msgspec.Struct, frozen=True):
    """An act that may go on, and the authorization that covers it, if there is one."""

    action: RegulatedAction
    subject: str
    is_declared: bool
    authorization: Authorization | None

    @property
    def is_gated(self) -> bool:
        """Return whether the act needs an authorization."""
        return self.is_declared and self.action != NEVER_GATED


async def require_cleared(
    tx: Tx, settings: Settings, action: RegulatedAction, subject: str, read_contract: ReadAttestedContract
) -> Clearance:
    """The act may go on. Raises: ActParked, AuthorizationsUnreadable."""
    profile = declared_profile(settings)
    is_declared = profile is not None and action in profile.regulated_actions
    try:
        cover = await _cover(tx, action, subject, read_contract)
    except asyncpg.PostgresError as error:
        raise AuthorizationsUnreadable(retry_after=1) from error
    clearance = Clearance(action, subject, is_declared, cover)
    if profile is not None and clearance.is_gated and cover is None:
        missing = {"authority": profile.name, "subject": subject, "call": RECORDED_AT}
        raise ActParked(
            f"{action} of {subject} needs a recorded authorization of the authority for {profile.name}.",
            members={"action": action, "checklist": [missing]},
        )
    return clearance


async def _cover(
    tx: Tx, action: RegulatedAction, subject: str, read_contract: ReadAttestedContract
) -> Authorization | None:
    for authorization in await store.covering(tx, action, subject):
        contract_id = authorization.contract_id
        if contract_id is None or problem_of(await read_contract(tx, contract_id), authorization) is None:
            return authorization
    return None


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

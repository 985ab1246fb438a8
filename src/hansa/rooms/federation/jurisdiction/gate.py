"""Gate of an act that the operator declared: it needs a live authorization of the same action and subject.

- A profile that cannot be read declares nothing; authorizations that cannot be read refuse the act.
- `registry.operation` is recorded and published, and never gated.
"""

import asyncpg
import msgspec

from hansa.foundation.plumbing.settings import RegulatedAction, Settings
from hansa.foundation.plumbing.storage.database import Tx

from . import store
from .compliance import declared_profile
from .contracts import ReadAttestedContract, problem_of
from .errors import ActParked, AuthorizationsUnreadable
from .records import Authorization

NEVER_GATED: RegulatedAction = "registry.operation"
RECORDED_AT = "POST /api/v1/admin/jurisdiction/authorizations"


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

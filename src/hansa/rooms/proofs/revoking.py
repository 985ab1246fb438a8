"""An attestation is revoked by its holder or by an administrator of enforcement, for good."""

from uuid import UUID

from hansa.foundation.events import AttestationRevoked
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import AdminNeeds2fa, Agent, Developer
from hansa.rooms import journal

from . import store
from .errors import AttestationUnknown, NotTheHolder
from .records import Attestation

AREA = "admin_enforcement"


async def revoke(tx: Tx, caller: Developer | Agent, attestation_id: UUID, settings: Settings) -> Attestation:
    """Revoke an attestation; again it changes nothing. Raises: AttestationUnknown, NotTheHolder, AdminNeeds2fa, AreasWithheld."""
    attestation = await store.find(tx, attestation_id)
    if attestation is None:
        raise AttestationUnknown
    if isinstance(caller, Agent):
        by = caller.did
        if by != attestation.agent_did:
            raise NotTheHolder
    else:
        by = f"developer:{caller.id}"
        if AREA not in caller.areas_in_reach:
            raise NotTheHolder
        if settings.require_admin_2fa and caller.second_factor_at is None:
            raise AdminNeeds2fa
    revoked = await store.revoke(tx, attestation_id, by)
    if revoked is None:
        return attestation
    if isinstance(caller, Developer):
        await record_admin_act(tx, caller, act="attestation.revoke", subject=str(attestation_id))
    event = AttestationRevoked(
        revoked.agent_did, attestation_id=str(attestation_id), circuit_id=revoked.circuit_id, revoked_by=by
    )
    await journal.append(tx, event)
    return revoked

"""Record and withdraw authorizations. The registry card, which the caller has locked, is published in the same transaction."""

from uuid import UUID

from msgspec.structs import replace

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer

from . import store
from .contracts import ReadAttestedContract, contract_digest
from .errors import AuthorizationUnknown, EvidenceRefused, TooManyAuthorizations
from .records import Authorization, NewAuthorization

LIVE_MAX = 100


async def record_authorization(
    tx: Tx, administrator: Developer, new: NewAuthorization, read_contract: ReadAttestedContract
) -> Authorization:
    """Record that an authority permits an act. Raises: EvidenceRefused, TooManyAuthorizations."""
    if not await store.is_future(tx, new):
        raise EvidenceRefused("valid_until must be in the future.", field="valid_until")
    if len(await store.live(tx)) >= LIVE_MAX:
        raise TooManyAuthorizations
    if new.contract_id is not None:
        new = replace(new, contract_digest=await _digest_of(tx, new.contract_id, read_contract))
    recorded = await store.add(tx, new)
    await record_admin_act(tx, administrator, act="authorization.record", subject=str(recorded.id))
    return recorded


async def live_authorizations(tx: Tx) -> list[Authorization]:
    """Every live authorization, the oldest first."""
    return await store.live(tx)


async def withdraw_authorization(tx: Tx, administrator: Developer, authorization_id: UUID) -> Authorization:
    """End an authorization. Raises: AuthorizationUnknown."""
    withdrawn = await store.withdraw(tx, authorization_id)
    if withdrawn is None:
        raise AuthorizationUnknown
    await record_admin_act(tx, administrator, act="authorization.withdraw", subject=str(authorization_id))
    return withdrawn


async def _digest_of(tx: Tx, contract_id: int, read_contract: ReadAttestedContract) -> bytes:
    contract = await read_contract(tx, contract_id)
    problem = "There is no such contract." if contract is None else contract.problem
    if contract is None or problem is not None:
        raise EvidenceRefused(f"The contract is no evidence: {problem}", field="evidence.contract_id")
    return contract_digest(contract.subset)

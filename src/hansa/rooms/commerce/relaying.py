"""Ask the registry that holds a contract to carry out an act of an agent of this one, over mutual TLS.

The contract, and the answer under the request id, are the other registry's; of the contract this one keeps a copy. The request
id follows from the Idempotency-Key, so that a repeated request is the same act there.
"""

from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID, uuid4

import msgspec
from pydantic import BaseModel, ValidationError

from hansa.foundation.plumbing.outgoing import Answer
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.web.bodies import BodyInvalid, parse_json
from hansa.foundation.plumbing.web.idempotency import KeyReused, Repeatable
from hansa.foundation.values.errors import Conflict, Refused, Unavailable
from hansa.rooms import federation, transfers

from .contracts import errors as contract_errors
from .disputes import errors as dispute_errors

PATH = "/api/v1/contracts/cross-registry/proxy"
SUCCESSES = frozenset({200, 201})
SERVER_ERRORS = 500

Shape = TypeVar("Shape", bound=BaseModel)


class ContractorRegistrySilent(Unavailable):
    """The registry that holds the contract did not answer, or not with what was asked for."""

    code = "CONTRACTOR_REGISTRY_SILENT"
    sentence = (
        "The registry that holds the contract does not answer; the act may have been carried out there."
    )
    remedy = "Send the request again with the same Idempotency-Key."


class ContractorRegistryRefused(Conflict):
    """The registry that holds the contract refuses the act for a reason of its own; `code` in the context names it."""

    code = "CONTRACTOR_REGISTRY_REFUSED"
    sentence = "The registry that holds the contract refuses this."


PASSED_ON: tuple[type[Refused], ...] = (
    contract_errors.BondRequired,
    contract_errors.ContractUnknown,
    contract_errors.DeadlinePassed,
    contract_errors.FundedAcross,
    contract_errors.MilestoneNotNext,
    contract_errors.SelfContract,
    contract_errors.PaymentUnderWay,
    contract_errors.TooManySubmissions,
    contract_errors.WrongParty,
    contract_errors.WrongState,
    dispute_errors.DefendantUnknown,
    dispute_errors.DisputeExists,
    dispute_errors.NotAParty,
    dispute_errors.NothingSubmitted,
    dispute_errors.SelfDispute,
    dispute_errors.TooLate,
    dispute_errors.TooManyDisputes,
    federation.AgentBlocked,
    federation.LicenceRequired,
    federation.PeerPaused,
    federation.PeerSuspended,
    transfers.CurrencyDiffers,
    KeyReused,
)
"""What that registry refuses with keeps its code and sentence here."""
RELAY_REFUSALS: tuple[type[Refused], ...] = (
    *PASSED_ON,
    federation.PeerUnknown,
    federation.PeerAmbiguous,
    ContractorRegistrySilent,
    ContractorRegistryRefused,
)
_BY_CODE = {kind.code: kind for kind in PASSED_ON}


class RelayedAct(msgspec.Struct, frozen=True):
    """An act of an agent of this registry on a contract that another one holds."""

    contract_id: int
    act: str
    body: Mapping[str, Any] = msgspec.field(default_factory=dict)


async def keeper_of(runtime: Runtime, registry: str) -> federation.PeerRecord:
    """The registry of this name, trust domain or ledger id, which keeps a contract.

    Raises: federation.PeerUnknown, federation.PeerAmbiguous, federation.PeerPaused.
    """
    peer = await runtime.database.query(lambda tx: federation.peer_by_name(tx, registry))
    if not peer.is_open:
        raise federation.PeerPaused
    return peer


async def relay(
    runtime: Runtime,
    peer: federation.PeerRecord,
    did: str,
    act: RelayedAct,
    shape: type[Shape],
    *,
    key: str | None = None,
) -> Shape:
    """Relay an act of the agent `did` and return the answer of the registry that keeps the contract.

    Raises: ContractorRegistrySilent, and the refusals of that registry.
    """
    body = {
        "request_id": str(_request_id(did, act, key)),
        "contract_id": act.contract_id,
        "act": act.act,
        "actor_did": did,
        "body": dict(act.body),
    }
    try:
        answer = await federation.mailbox.post(runtime, peer, PATH, body)
    except federation.mailbox.PeerUnavailable:
        raise ContractorRegistrySilent(retry_after=5) from None
    if answer.status not in SUCCESSES:
        raise _refusal_of(answer)
    try:
        return shape.model_validate(parse_json(answer.body))
    except (BodyInvalid, ValidationError):
        raise ContractorRegistrySilent(retry_after=5) from None


def _request_id(did: str, act: RelayedAct, key: str | None) -> UUID:
    if key is None:
        return uuid4()
    scope = Repeatable(did, f"/contracts/{act.contract_id}/{act.act}", key, None).scope
    return UUID(bytes=scope[:16], version=5)


class _Error(msgspec.Struct):
    code: str
    context: dict[str, Any] | None = None


class _Problem(msgspec.Struct):
    detail: str
    error: _Error


def _refusal_of(answer: Answer) -> Refused:
    try:
        problem = msgspec.json.decode(answer.body, type=_Problem)
    except msgspec.DecodeError:
        return ContractorRegistrySilent(retry_after=5)
    kind = _BY_CODE.get(problem.error.code)
    if kind is not None:
        return kind(problem.detail, context=problem.error.context)
    if answer.status >= SERVER_ERRORS:
        return ContractorRegistrySilent(retry_after=5)
    return ContractorRegistryRefused(problem.detail, context={"code": problem.error.code})

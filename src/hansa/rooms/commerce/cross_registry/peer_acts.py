"""Acts of agents of a peer on contracts of this registry, judged as those of an agent of its own."""

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.peer_caller import Peer
from hansa.foundation.values.lazy_model import LazyModel
from hansa.rooms import federation, transfers
from hansa.rooms.commerce import contracts, disputes
from hansa.rooms.commerce.bonds import BOND_ADMITS
from hansa.rooms.commerce.contracts.schemas import ContractOut, ProxyIn, SubmissionIn
from hansa.rooms.commerce.contracts.work import Submission
from hansa.rooms.commerce.disputes.schemas import DisputeIn, DisputeOut

from .errors import ActorOfAnother, PeerActInvalid

Shape = TypeVar("Shape", bound=BaseModel)


class PeerActs:
    """Acts that a peer relays for one of its agents."""

    def __init__(self, runtime: Runtime, peer: Peer, relayed: ProxyIn) -> None:
        self._runtime, self._peer, self._relayed = runtime, peer, relayed
        self._settings = runtime.settings

    async def require_own_actor(self) -> None:
        """The actor is one for which the peer speaks; another one is counted. Raises: ActorOfAnother, FrameUnavailable."""
        database, peer_id = self._runtime.database, self._peer.id
        known = await database.query(lambda tx: federation.peer_by_id(tx, peer_id))
        actor, settings = self._relayed.actor_did, self._settings
        if known.trust_domain == settings.trust_domain:
            await federation.learn_holders(self._runtime, [actor])
        if await database.query(lambda tx: federation.speaks_for(tx, known, actor, settings)):
            return
        await database.transaction(lambda tx: federation.count_refusal(tx, peer_id, "foreign_namespace"))
        raise ActorOfAnother

    async def accept(self, tx: Tx) -> ContractOut:
        """Accept a proposal. Raises: as `contracts.accept`."""
        _read({}, self._relayed.body, _Nothing)
        admits = BOND_ADMITS.of(self._runtime)
        accepted = await contracts.accept(
            tx, self._relayed.actor_did, self._relayed.contract_id, self._settings, admits
        )
        return self._out(accepted)

    async def submit(self, tx: Tx) -> ContractOut:
        """Submit work. Raises: as `contracts.submit`."""
        await self._require_reachable(tx)
        given = _read({}, self._relayed.body, SubmissionIn)
        deliverable = given.deliverable.model_dump() if given.deliverable else None
        submission = Submission(deliverable, given.milestone)
        return self._out(
            await contracts.submit(tx, self._relayed.actor_did, self._relayed.contract_id, submission)
        )

    async def dispute(self, tx: Tx) -> DisputeOut:
        """File a dispute about the contract, which stops it. Raises: as `disputes.file`."""
        await self._require_reachable(tx)
        given = _read({"contract_id": self._relayed.contract_id}, self._relayed.body, DisputeIn)
        if given.contract_id != self._relayed.contract_id:
            raise PeerActInvalid("contract_id of the dispute must be that of the act.")
        return DisputeOut.of(await disputes.file(tx, given.filed_by(self._relayed.actor_did), self._settings))

    async def read(self, tx: Tx) -> ContractOut:
        """The contract, as its provider may read it. Raises: ContractUnknown."""
        found = await contracts.read_contract_as(tx, self._relayed.actor_did, self._relayed.contract_id)
        return self._out(found)

    async def _require_reachable(self, tx: Tx) -> None:
        await transfers.require_reachable(tx, self._relayed.actor_did, self._settings)

    def _out(self, contract: contracts.ContractShown) -> ContractOut:
        return ContractOut.of(contract, self._settings.ledger_id)


class _Nothing(LazyModel, extra="forbid"):
    pass


def _read(given: dict[str, Any], body: dict[str, Any], shape: type[Shape]) -> Shape:
    try:
        return shape.model_validate({**given, **body})
    except ValidationError as wrong:
        first = wrong.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise PeerActInvalid(f"body.{place}: {first['msg']}" if place else f"body: {first['msg']}") from None

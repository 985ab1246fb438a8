"""Proposals, acceptances and submissions that come at the same moment share a transaction.

- Only plain ones: without milestones, without another registry, and for an acceptance without a hold or a bond. Each is judged by
  the same rules as elsewhere. An act that is not plain or is refused is carried out by itself, which gives the reason.
- The rows of contracts are locked in the order of their ids, then those of agents in the order of their DIDs.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress

import msgspec

from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.idempotency import Answer, Repeatable
from hansa.foundation.plumbing.web.shared_transactions import SharedTransactions
from hansa.foundation.values.did import is_system_did
from hansa.foundation.values.errors import Refused
from hansa.rooms import agents, journal

from . import events, rules, store, term_rules
from .contract import Contract, Terms
from .deferred_response import contract_json
from .reading import ContractShown
from .records import NewContract
from .transitions import Move, has_new_deadline, schedule

TOGETHER_MAX = 100


class PlainMove(msgspec.Struct, frozen=True, eq=False):
    """An act of the agent `did` on a contract. `judge` raises Refused, and says None where the act is not plain.

    `binds`: the agent has to be active, and does not end before the act is committed.
    """

    contract_id: int
    did: str
    evaluate: Callable[[Contract], Move | None]
    binds: bool


class PlainProposal(msgspec.Struct, frozen=True, eq=False):
    """A proposal that needs no consent of the owner."""

    terms: Terms


PlainAct = PlainMove | PlainProposal


def is_plain(terms: Terms) -> bool:
    """Return whether a proposal may share a transaction, as far as its terms say so. Without dates nothing is paid without an approval."""
    try:
        term_rules.require_sound(terms)
    except Refused:
        return False
    is_stated = terms.provider_bond is not None or terms.provider_jobs is not None
    return not terms.milestones and not terms.dates and not is_stated


class _ByItself:
    """Outcome of an act that is not plain or is refused: nothing is done."""


_BY_ITSELF = _ByItself()


class ContractBatch:
    """The acts of one process that share transactions."""

    def __init__(self, runtime: Runtime) -> None:
        self._settings = runtime.settings
        self._shared = SharedTransactions[PlainAct, _ByItself](runtime.database, self._answered, TOGETHER_MAX)

    async def carry_out(self, act: PlainAct, request: Repeatable | None) -> Answer | None:
        """The answer to the act, or the repetition of it; None, and nothing is done, where it has to be carried out by itself.

        Raises: KeyReused, KeyInProgress, Unavailable; the errors of a transaction with this act alone.
        """
        outcome = await self._shared.carry_out(act, request)
        return None if isinstance(outcome, _ByItself) else outcome

    async def _answered(
        self, tx: Tx, acts: Sequence[PlainAct]
    ) -> dict[PlainAct, str | _ByItself | Exception]:
        shown = await carry_out(tx, acts, self._settings.settlement_currency)
        return {
            act: contract_json(shown[act], self._settings) if act in shown else _BY_ITSELF for act in acts
        }


CONTRACT_BATCH: Slot[ContractBatch] = Slot(
    "commerce: acts on contracts that share transactions", build=ContractBatch
)


async def carry_out(tx: Tx, acts: Sequence[PlainAct], currency: str) -> dict[PlainAct, ContractShown]:
    """Carry out those of the acts that are plain and are not refused; the others are left out, and leave nothing."""
    moves = [act for act in acts if isinstance(act, PlainMove)]
    proposals = [act for act in acts if isinstance(act, PlainProposal)]
    contracts = await store.lock_all(tx, {act.contract_id for act in moves}) if moves else {}
    binding = {act.did for act in moves if act.binds} | {act.terms.contractor_did for act in proposals}
    statuses = await _lock_those_who_bind(tx, binding) if binding else {}
    return await _written(
        tx,
        _judged(moves, contracts, statuses),
        await _judged_proposals(tx, proposals, statuses, currency),
    )


async def _lock_those_who_bind(tx: Tx, dids: Collection[str]) -> dict[str, str]:
    """The statuses of the agents, locked; those of children that are ending are left out."""
    statuses = await agents.lock_statuses(tx, dids)
    ending = await agents.ending_among(tx, dids)
    return {did: status for did, status in statuses.items() if did not in ending}


def _judged(
    acts: Sequence[PlainMove], contracts: Mapping[int, Contract], statuses: Mapping[str, str]
) -> dict[PlainMove, Move]:
    """One move at most for each contract."""
    left, judged = dict(contracts), {}
    for act in acts:
        contract = left.pop(act.contract_id, None)
        if contract is None or contract.milestones or contract.is_across or rules.is_due(contract):
            continue
        if act.binds and statuses.get(act.did) != "active":
            continue
        with suppress(Refused):
            if move := act.evaluate(contract):
                judged[act] = move
    return judged


async def _judged_proposals(
    tx: Tx, acts: Sequence[PlainProposal], statuses: Mapping[str, str], currency: str
) -> dict[PlainProposal, NewContract]:
    if not acts:
        return {}
    named = {act.terms.provider_did for act in acts if act.terms.provider_did is not None}
    providers = await agents.statuses_of(tx, [did for did in named if not is_system_did(did)])
    proposals = await store.open_proposals_of(tx, {act.terms.contractor_did for act in acts})
    counts, judged = Counter({did: count for did, (count, _) in proposals.items()}), {}
    for act in acts:
        terms, contractor = act.terms, act.terms.contractor_did
        is_known = terms.provider_did is None or providers.get(terms.provider_did) == "active"
        if not is_known or statuses.get(contractor) != "active":
            continue
        if counts[contractor] < rules.OPEN_PROPOSALS_MAX:
            counts[contractor] += 1
            judged[act] = NewContract(terms, currency, proposals[contractor][1])
    return judged


async def _written(
    tx: Tx, moves: Mapping[PlainMove, Move], proposals: Mapping[PlainProposal, NewContract]
) -> dict[PlainAct, ContractShown]:
    if not moves and not proposals:
        return {}
    made = [(move.before, move.after, move.line) for move in moves.values()]
    histories = await store.save_all_with_lines(tx, made) if made else {}
    inserted = await store.insert_all(tx, list(proposals.values())) if proposals else []
    shown: dict[PlainAct, ContractShown] = {
        act: ContractShown(move.after, histories[move.after.id]) for act, move in moves.items()
    }
    shown |= {
        act: ContractShown(contract, [line])
        for act, (contract, line) in zip(proposals, inserted, strict=True)
    }
    proposed = [contract for contract, _ in inserted]
    moved = [move.after for move in moves.values() if has_new_deadline(move.before, move.after)]
    await schedule(tx, *moved, *proposed)
    await journal.append(
        tx, *(move.event for move in moves.values()), *(events.proposed(one) for one in proposed)
    )
    return shown

"""Acts that come to a process at one listing while a transaction of it is under way are the next transaction.

- Two with the same client_order_id never share a transaction.
- An act whose payment is governed is a transaction by itself.
"""

from collections.abc import Sequence
from typing import TypeAlias
from weakref import WeakValueDictionary

from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.idempotency import Answer, Repeatable
from hansa.foundation.plumbing.web.shared_transactions import SharedTransactions
from hansa.foundation.values.errors import Refused
from hansa.rooms import agents

from .acting import carry_out
from .judging import Act, PlaceOrder
from .records import ShownOrder
from .schemas import OrderOut

TOGETHER_MAX = 50
PAUSE_SECONDS = 0.01
"""From the beginning of a transaction at a listing to that of the next: most of its cost is the same for one act and for ten."""

_AtListing: TypeAlias = SharedTransactions[Act, agents.Approval]


class Acts:
    """The acts of one process at listings, which share transactions."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        # It lives as long as somebody waits for it: references of listings that there are not are not kept.
        self._at: WeakValueDictionary[str, _AtListing] = WeakValueDictionary()

    async def carry_out(self, ref: str, act: Act, request: Repeatable | None) -> Answer | agents.Approval:
        """Carry out an act; durable when this returns. Raises: the refusals of `acting.carry_out`, KeyReused, KeyInProgress, Unavailable."""
        shared = self._at.get(ref)
        if shared is None:

            async def answered(tx: Tx, acts: Sequence[Act]) -> dict[Act, str | agents.Approval | Exception]:
                outcomes = await carry_out(tx, ref, acts, self._runtime.settings)
                return {act: _shown(outcome) for act, outcome in outcomes.items()}

            shared = self._at[ref] = SharedTransactions(
                self._runtime.database,
                answered,
                TOGETHER_MAX,
                names_of=_names_of,
                pause_seconds=PAUSE_SECONDS,
            )
        return await shared.carry_out(act, request)


ACTS: Slot[Acts] = Slot("exchange: acts that share transactions", build=Acts)


def _names_of(act: Act) -> frozenset[tuple[str, str]] | None:
    if not isinstance(act, PlaceOrder):
        return frozenset()
    if not act.is_plain:
        return None
    name = act.new.client_order_id
    return frozenset() if name is None else frozenset({(act.agent.did, name)})


def _shown(outcome: ShownOrder | agents.Approval | Refused) -> str | agents.Approval | Exception:
    return OrderOut.of(outcome).model_dump_json() if isinstance(outcome, ShownOrder) else outcome

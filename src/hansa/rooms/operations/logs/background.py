"""Background work of logs: entries that the registry adds, partitions of days, logs that are too large."""

from hansa.foundation.events import A2APaymentFailed, SpendApprovalRequested
from hansa.foundation.plumbing.jobs import sweep_of, sweep_with_runtime
from hansa.foundation.plumbing.jobs.reactors import Reactor, StoredEvent
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import agents

from . import store
from .rules import new_entry
from .writing import write_of_registry

_MEMBERS = {
    "SpendApprovalRequested": ("approval_id", "receiver", "amount", "currency", "expires_at"),
    "A2APaymentFailed": ("token_id", "caller", "payee", "amount", "currency", "reason"),
}
_SENTENCES = {
    "SpendApprovalRequested": ("INFO", "A payment waits for the approval of the owner."),
    "A2APaymentFailed": ("ERROR", "A payment failed; nothing was moved."),
}


async def _enter(tx: Tx, event: StoredEvent) -> None:
    parties = {event.aggregate_id, event.data.get("payee", event.aggregate_id)}
    level, sentence = _SENTENCES[event.event_type]
    members = {name: event.data[name] for name in _MEMBERS[event.event_type]}
    # In the order of their DIDs: each log is locked.
    for did in sorted(await agents.statuses_of(tx, sorted(parties))):
        await write_of_registry(tx, did, new_entry(level, sentence, members))


async def _keep_days(tx: Tx, runtime: Runtime) -> None:
    await store.keep_days(tx, runtime.settings.agent_log_days)


REGISTRY_ENTRIES = Reactor("operations: entries of logs", (SpendApprovalRequested, A2APaymentFailed), _enter)
LOG_DAYS = sweep_with_runtime("operations: keep days of logs", 3600, _keep_days)
LOG_SIZES = sweep_of("operations: cut large logs", 30, store.is_any_too_large, store.cut_too_large)

"""Reading and changing emission policies; a change is an event of the same transaction."""

from collections.abc import Mapping
from typing import Any

from hansa.foundation.events import EmissionRule, EventEmissionPolicyUpdated
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms.journal.append import append
from hansa.rooms.journal.store import write_registry_did

from . import rules, store


async def list_policies(tx: Tx) -> tuple[list[rules.Policy], bool]:
    """Every policy by event type, and whether the registry fails closed where none speaks."""
    return await store.policies(tx), not await store.default(tx)


async def change_policy(
    tx: Tx, event_type: str, change: Mapping[str, Any], administrator: Developer
) -> rules.Policy:
    """Change members of the policy of a type; a type without one gets it. Raises: EmissionRequired."""
    before = await store.lock_policy(tx, event_type)
    after = rules.changed(event_type, before.rule, change)
    await record_admin_act(tx, administrator, act="emission_policy.change", subject=event_type)
    if after == before.rule:
        return before
    policy = await store.write_policy(tx, event_type, after)
    event = EventEmissionPolicyUpdated(
        event_type=event_type,
        before=_rule_of(before.rule),
        after=_rule_of(after),
        changed_by=f"developer:{administrator.id}",
    )
    await append(tx, event)
    return policy


async def settle_policies(tx: Tx, *, fail_closed: bool, registry_did: str) -> None:
    """Give every event type of this version its policy where it has none, and write the default for other events.

    A policy that was set before its type had to be recorded always is corrected. Every process does so when it starts;
    the last one decides. `registry_did` is the account of facts about the registry itself.
    """
    await write_registry_did(tx, registry_did)
    await store.write_missing(tx, rules.first_policies())
    await store.correct_required(tx, rules.always_recorded())
    await store.write_default(tx, admitted=not fail_closed)


def _rule_of(rule: rules.Rule) -> EmissionRule:
    return EmissionRule(rule.emit_from_teg, rule.emit_from_registry, rule.skip_in_projection)

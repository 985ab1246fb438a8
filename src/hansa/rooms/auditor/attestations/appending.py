"""Append to the chain: one record for each audit cycle, and one for each change of a baseline.

Each act is one transaction at READ COMMITTED whose first statement locks the chain.
"""

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import msgspec

import hansa
from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.log_outbox import record_leaf
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.money import Minor

from . import rules, store
from .errors import BaselineRefused, NoNativeBaseline, NotAuditedYet
from .keys import current_key
from .records import Attestation, Chain


class Attestor(msgspec.Struct, frozen=True):
    """Frame and currency of the records, and the seal that opens the signing key."""

    frame: str
    currency: str
    seal: Seal
    issues: bool = True

    @classmethod
    def of(cls, settings: Settings, seal: Seal) -> "Attestor":
        """The attestor of this registry."""
        return cls(settings.ledger_id, settings.settlement_currency, seal, not settings.is_operator)

    @classmethod
    def in_process(cls, runtime: Runtime) -> "Attestor":
        """The attestor of this process."""
        return cls.of(runtime.settings, runtime.seal)


async def attest_newest_cycle(tx: Tx, attestor: Attestor) -> Attestation | None:
    """Append the record of the newest audit cycle; None when it has one."""
    chain = await store.lock_chain(tx, attestor.frame)
    reading = await store.newest_reading(tx)
    if reading is None or reading.audit_row_id <= chain.audit_row_id:
        return None
    members = rules.audit_members(chain, reading, attestor.currency)
    return await _append(tx, attestor, chain, "audit", members, audit_row_id=reading.audit_row_id)


async def attest_failed_reading(tx: Tx, attestor: Attestor) -> Attestation:
    """Append the record of a cycle whose reading failed."""
    chain = await store.lock_chain(tx, attestor.frame)
    audit_row_id = await store.next_audit_row_id(tx)
    members = rules.failed_audit_members(chain, audit_row_id, attestor.currency)
    return await _append(tx, attestor, chain, "audit", members, audit_row_id=audit_row_id)


async def set_native_baseline(
    tx: Tx, administrator: Developer, attestor: Attestor, *, baseline: Minor | None, ref: str
) -> Attestation:
    """Set the native baseline, or remove it with None. Raises: NoNativeBaseline, BaselineRefused."""
    if not attestor.issues:
        raise BaselineRefused
    chain = await store.lock_chain(tx, attestor.frame)
    if baseline is None and chain.native_baseline is None:
        raise NoNativeBaseline
    kind = "baseline_removed" if baseline is None else "baseline_set"
    record = await _append(tx, attestor, chain, kind, rules.baseline_members(chain, baseline, ref))
    await store.keep_native_baseline(tx, chain.frame, baseline)
    await _record_act(tx, administrator, record, ref)
    return record


async def rebaseline_transit(
    tx: Tx, administrator: Developer, attestor: Attestor, *, ref: str
) -> Attestation:
    """Record the units in transit at the last audit cycle as reconciled. Raises: NotAuditedYet."""
    chain = await store.lock_chain(tx, attestor.frame)
    reading = await store.newest_reading(tx)
    if reading is None:
        raise NotAuditedYet
    members = rules.transit_members(chain, reading.transit, ref)
    record = await _append(tx, attestor, chain, "transit_rebaselined", members)
    await store.keep_transit_baseline(tx, chain.frame, reading.transit)
    await _record_act(tx, administrator, record, ref)
    return record


async def _append(
    tx: Tx,
    attestor: Attestor,
    chain: Chain,
    kind: str,
    members: Mapping[str, Any],
    *,
    audit_row_id: int | None = None,
) -> Attestation:
    key = await current_key(tx, attestor.seal)
    payload = rules.canonical_text(
        {
            "standard": rules.STANDARD,
            "kind": kind,
            "auditor_version": hansa.__version__,
            "frame": chain.frame,
            "ts": rules.moment_text(chain.ts),
            "prev_hash": chain.head_digest,
            **members,
        }
    )
    signed = payload.encode()
    record = Attestation(
        id=chain.head_id + 1,
        frame=chain.frame,
        ts=chain.ts,
        kind=kind,
        payload=payload,
        digest=sha256(signed).hexdigest(),
        prev_hash=chain.head_digest,
        signature=urlsafe_b64encode(key.private.sign(signed)).rstrip(b"=").decode(),
        kid=key.kid,
    )
    await store.append(tx, record, audit_row_id)
    await record_leaf(tx, "attestation", str(record.id), bytes.fromhex(record.digest))
    return record


async def _record_act(tx: Tx, administrator: Developer, record: Attestation, ref: str) -> None:
    await record_admin_act(
        tx, administrator, act=f"supply.{record.kind}", subject=f"attestation:{record.id}", reason=ref
    )

"""Members of an attestation and its one canonical text. Specification 2, supply attestation record.

- The text is built once: keys sorted by code point, no blanks, UTF-8. It is stored and signed as it is.
- Amounts are JSON numbers with all their digits, never rounded to a double.
- `status` follows from the delta alone; `live_status` and `checks` have the other findings of the cycle.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from typing import Any

from hansa.foundation.values.money import Minor, format_amount

from .records import Chain, Reading

STANDARD = "SA-1.0"
BASELINE_RAIL = "admin/set-native-baseline"
TRANSIT_RAIL = "admin/rebaseline-transit"
KID_HEX_DIGITS = 16
# Two cycles and a half: a record that comes later says from when on none was written.
GAP_AFTER = timedelta(seconds=150)
# Specification 2, limits: an older head means that nobody watches the supply.
UNWATCHED_AFTER = timedelta(minutes=10)


def kid_of(public_key: bytes) -> str:
    """The id of an auditor key: the first 16 hex characters of SHA-256 of the raw key."""
    return sha256(public_key).hexdigest()[:KID_HEX_DIGITS]


def moment_text(timestamp: datetime) -> str:
    """A time as records write it: ISO 8601, UTC, microseconds."""
    return timestamp.astimezone(UTC).isoformat(timespec="microseconds")


def number(amount: Minor) -> Decimal:
    """An amount as a JSON number."""
    return Decimal(format_amount(amount))


def canonical_text(value: Any) -> str:
    """The one text of a payload. A Decimal becomes a number with all its digits, without exponent."""
    if isinstance(value, Mapping):
        members = (f"{json.dumps(name)}:{canonical_text(value[name])}" for name in sorted(value))
        return "{" + ",".join(members) + "}"
    if isinstance(value, Decimal):
        return f"{value:f}"
    return json.dumps(value, ensure_ascii=False)


def audit_members(chain: Chain, reading: Reading, currency: str) -> dict[str, Any]:
    """Members of an audit record that only a cycle with a successful reading has."""
    terms = {
        "issued": number(reading.issued),
        "destroyed": number(reading.destroyed),
        "transit_net": number(reading.transit),
        "net_supply": number(Minor(reading.issued - reading.destroyed + reading.transit)),
        "circulating": number(reading.circulating),
    }
    return {
        "currency": currency,
        "audit_row_id": reading.audit_row_id,
        "as_of_event_seq": reading.as_of_seq,
        "terms": terms,
        "delta": number(reading.delta),
        "status": "OK" if reading.delta == 0 else "BREACH",
        "live_status": reading.live_status,
        "maintenance": False,
        "native": _native(chain, reading),
        "checks": {**reading.checks, "solvency": _solvency(reading)},
        "liabilities": _liabilities(reading),
        **_gap(chain),
    }


def failed_audit_members(chain: Chain, audit_row_id: int, currency: str) -> dict[str, Any]:
    """Members of an audit record that only a cycle with a failed reading has."""
    return {
        "currency": currency,
        "audit_row_id": audit_row_id,
        **dict.fromkeys(("as_of_event_seq", "terms", "delta", "status")),
        "live_status": "UNKNOWN",
        "maintenance": False,
        "native": _UNKNOWN_COVERAGE,
        "checks": {},
        "liabilities": None,
        **_gap(chain),
    }


def baseline_members(chain: Chain, baseline: Minor | None, ref: str) -> dict[str, Any]:
    """Members that only the record of a native baseline, set or removed, has."""
    entry = baseline and {"baseline": number(baseline), "set_at": moment_text(chain.ts), "ref": ref}
    return {"entry": entry, "ref": ref, "rail": BASELINE_RAIL}


def transit_members(chain: Chain, transit: Minor, ref: str) -> dict[str, Any]:
    """Members that only the record of a new transit baseline has."""
    old = chain.transit_baseline or Minor(0)
    return {
        "old_baseline": number(old),
        "old_drift": number(Minor(transit - old)),
        "new_baseline": number(transit),
        "ref": ref,
        "rail": TRANSIT_RAIL,
    }


_UNKNOWN_COVERAGE = {"ok": None, "basis": "coverage_unknown", "gap": None, "gap_rebased": None}


def _native(chain: Chain, reading: Reading) -> dict[str, Any]:
    """Comparison of the circulating units with the typed events of issuing, without the units of the baseline."""
    if reading.typed_net is None:
        return _UNKNOWN_COVERAGE
    gap = reading.circulating - reading.transit - reading.typed_net
    rebased = gap - (chain.native_baseline or 0)
    return {
        "ok": rebased == 0,
        "basis": _basis(chain),
        "gap": number(Minor(gap)),
        "gap_rebased": number(Minor(rebased)),
    }


def _solvency(reading: Reading) -> str:
    """BREACH where more circulates than was issued, else the verdict on the accounts of listings; LOW is for arrears."""
    return "BREACH" if reading.delta < 0 else reading.checks.get("solvency", "SOLVENT")


def _liabilities(reading: Reading) -> dict[str, Any] | None:
    """Tree over all accounts, which adds up to the circulating units; its total is a string."""
    if reading.liabilities_root is None:
        return None
    return {
        "root": reading.liabilities_root.hex(),
        "total": format_amount(reading.circulating),
        "accounts": reading.liabilities_accounts,
    }


def _basis(chain: Chain) -> str:
    """It changes only with a provenance record."""
    if chain.native_baseline is not None:
        return "writedown_rebaselined"
    return "typed_mints_complete" if chain.transit_baseline is None else "federated_reconciled"


def _gap(chain: Chain) -> dict[str, Any]:
    """The time in which no cycle was attested, if there was one."""
    last = chain.audited_ts
    if last is None or chain.ts - last <= GAP_AFTER:
        return {}
    return {"gap": {"from": moment_text(last), "to": moment_text(chain.ts)}}

"""Supply attestations: the signed chain of the results of audit cycles."""

from .appending import (
    Attestor,
    attest_failed_reading,
    attest_newest_cycle,
    rebaseline_transit,
    set_native_baseline,
)
from .errors import AttestationUnknown
from .keys import (
    SEALED_AUDITOR_KEYS,
    checkpoint_keys,
    forget_retired_keys,
    initialize_attestations,
    replace_sealed_auditor_key,
    rotate_as_administrator,
    rotate_auditor_key,
)
from .reading import (
    ANY_ORIGIN,
    Watch,
    attestation_of_liabilities,
    list_attestations,
    list_keys,
    present_kids,
    prove_records,
    published_keys,
    read_newest_audit,
    read_watch,
)
from .records import Attestation, AuditorKey
from .routes import admin_router, root_router
from .rules import kid_of
from .schemas import AttestationOut

__all__ = [
    "ANY_ORIGIN",
    "SEALED_AUDITOR_KEYS",
    "Attestation",
    "AttestationOut",
    "AttestationUnknown",
    "Attestor",
    "AuditorKey",
    "Watch",
    "admin_router",
    "attest_failed_reading",
    "attest_newest_cycle",
    "attestation_of_liabilities",
    "checkpoint_keys",
    "forget_retired_keys",
    "initialize_attestations",
    "kid_of",
    "list_attestations",
    "list_keys",
    "present_kids",
    "prove_records",
    "published_keys",
    "read_newest_audit",
    "read_watch",
    "rebaseline_transit",
    "replace_sealed_auditor_key",
    "root_router",
    "rotate_as_administrator",
    "rotate_auditor_key",
    "set_native_baseline",
]

"""Verify signatures of a registry offline: nothing here asks a server, a clock of ours or the registry's own code."""

from .achievement import ACHIEVEMENT_KIND, ACHIEVEMENT_TYPE, verify_achievement
from .agent_key import (
    AGENT_KEYS_KIND,
    AGENT_KEYS_MAX,
    AGENT_KEYS_TYPE,
    AgentKeyVerdict,
    verify_agent_key,
)
from .attestations import ChainVerdict, Warned, read_export, read_record, verify_attestations
from .availability import (
    AVAILABILITY_KIND,
    CLASSES_MS,
    STATEMENT_KIND,
    STATEMENT_TYPE,
    Bounds,
    availability_leaf,
    bounds_of_day,
    bounds_of_days,
    median_class,
    verify_availability,
)
from .balance_as_of import verify_liabilities_as_of
from .balance_proof import verify_liabilities
from .bundle import verify_bundle
from .canonical import NotBase64url, NotCanonical, canonical_json, decoded, encoded, read_json
from .card import CARD_PROFILE, Verdict, verify_card, verify_document
from .contract_proof import verify_contract_proof
from .dispute import RULES_VERSION, RULES_VERSIONS, Proposal, propose
from .journal_archive import (
    ARCHIVE_KIND,
    ARCHIVE_TYPE,
    COLUMNS,
    ArchiveVerdict,
    RowTree,
    manifest_digest,
    manifest_path,
    verify_archive,
)
from .jws import BadEntry, CompactSignature, DetachedSignature, read_compact, read_entry
from .keys import AuditorKey, NotAKey, RegistryKey, has_ml_dsa, public_key_of, read_auditor_keys, read_keys
from .liabilities import NotAProof, read_amount
from .licence import (
    BadLicence,
    Certificate,
    key_thumbprint,
    licence_hash,
    read_certificate,
    read_issued_list,
)
from .licence_as_of import verify_licence_as_of
from .licence_chain import LicenceVerdict, verify_licence
from .log import LOG_KEY, ML_DSA_WITNESS_KEY, WITNESS_KEY, VerifierKey, find_cosignature, read_verifier_key
from .registry_card import CardReader, CardVerdict, verify_registry_card
from .reputation import (
    FORMULA,
    SCORE_MAX,
    Kind,
    NotASignal,
    Score,
    Signal,
    decayed,
    grade_of,
    read_signal,
    scores_of,
)
from .settlement import SettlementVerdict, verify_settlement
from .slash_reduction import Reduction, reduce_slash, reduction_of, states_reduction
from .steps import Decision, Step
from .stock_card import signed_stock_card, verify_stock_card

__all__ = [
    "ACHIEVEMENT_KIND",
    "ACHIEVEMENT_TYPE",
    "AGENT_KEYS_KIND",
    "AGENT_KEYS_MAX",
    "AGENT_KEYS_TYPE",
    "ARCHIVE_KIND",
    "ARCHIVE_TYPE",
    "AVAILABILITY_KIND",
    "CARD_PROFILE",
    "CLASSES_MS",
    "COLUMNS",
    "FORMULA",
    "LOG_KEY",
    "ML_DSA_WITNESS_KEY",
    "RULES_VERSION",
    "RULES_VERSIONS",
    "SCORE_MAX",
    "STATEMENT_KIND",
    "STATEMENT_TYPE",
    "WITNESS_KEY",
    "AgentKeyVerdict",
    "ArchiveVerdict",
    "AuditorKey",
    "BadEntry",
    "BadLicence",
    "Bounds",
    "CardReader",
    "CardVerdict",
    "Certificate",
    "ChainVerdict",
    "CompactSignature",
    "Decision",
    "DetachedSignature",
    "Kind",
    "LicenceVerdict",
    "NotAKey",
    "NotAProof",
    "NotASignal",
    "NotBase64url",
    "NotCanonical",
    "Proposal",
    "Reduction",
    "RegistryKey",
    "RowTree",
    "Score",
    "SettlementVerdict",
    "Signal",
    "Step",
    "Verdict",
    "VerifierKey",
    "Warned",
    "availability_leaf",
    "bounds_of_day",
    "bounds_of_days",
    "canonical_json",
    "decayed",
    "decoded",
    "encoded",
    "find_cosignature",
    "grade_of",
    "has_ml_dsa",
    "key_thumbprint",
    "licence_hash",
    "manifest_digest",
    "manifest_path",
    "median_class",
    "propose",
    "public_key_of",
    "read_amount",
    "read_auditor_keys",
    "read_certificate",
    "read_compact",
    "read_entry",
    "read_export",
    "read_issued_list",
    "read_json",
    "read_keys",
    "read_record",
    "read_signal",
    "read_verifier_key",
    "reduce_slash",
    "reduction_of",
    "scores_of",
    "signed_stock_card",
    "states_reduction",
    "verify_achievement",
    "verify_agent_key",
    "verify_archive",
    "verify_attestations",
    "verify_availability",
    "verify_bundle",
    "verify_card",
    "verify_contract_proof",
    "verify_document",
    "verify_liabilities",
    "verify_liabilities_as_of",
    "verify_licence",
    "verify_licence_as_of",
    "verify_registry_card",
    "verify_settlement",
    "verify_stock_card",
]

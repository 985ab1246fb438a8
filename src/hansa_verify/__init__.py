"""Verify what a registry signed, offline: nothing here asks a server, a clock of ours or the registry's own code."""

from .attestations import (
    AuditorKey,
    ChainVerdict,
    Warned,
    read_auditor_keys,
    read_export,
    read_record,
    verify_attestations,
)
from .balance_proof import BalanceVerdict, verify_liabilities
from .base64url import NotBase64url, decoded, encoded
from .canonical import NotCanonical, canonical_json, read_json
from .card import CARD_PROFILE, RegistryKey, Step, Verdict, read_keys, verify_card, verify_document
from .cosignatures import LOG_KEY, WITNESS_KEY, VerifierKey, find_cosignature, read_verifier_key
from .dispute import RULES_VERSION, Proposal, propose
from .jws import BadEntry, DetachedSignature, read_entry
from .keys import NotAKey, public_key_of
from .liabilities import Liabilities, NotAProof, judge_balance, judge_blocks, read_amount, read_liabilities
from .licence import (
    BadLicence,
    Certificate,
    IssuedList,
    key_thumbprint,
    licence_hash,
    read_certificate,
    read_issued_list,
)
from .licence_chain import LicenceVerdict, verify_licence
from .registry_card import CardReader, CardVerdict, verify_registry_card
from .reputation import FORMULA, Kind, NotASignal, Score, Signal, grade_of, read_signal, scores_of

__all__ = [
    "CARD_PROFILE",
    "FORMULA",
    "LOG_KEY",
    "RULES_VERSION",
    "WITNESS_KEY",
    "AuditorKey",
    "BadEntry",
    "BadLicence",
    "BalanceVerdict",
    "CardReader",
    "CardVerdict",
    "Certificate",
    "ChainVerdict",
    "DetachedSignature",
    "IssuedList",
    "Kind",
    "Liabilities",
    "LicenceVerdict",
    "NotAKey",
    "NotAProof",
    "NotASignal",
    "NotBase64url",
    "NotCanonical",
    "Proposal",
    "RegistryKey",
    "Score",
    "Signal",
    "Step",
    "Verdict",
    "VerifierKey",
    "Warned",
    "canonical_json",
    "decoded",
    "encoded",
    "find_cosignature",
    "grade_of",
    "judge_balance",
    "judge_blocks",
    "key_thumbprint",
    "licence_hash",
    "propose",
    "public_key_of",
    "read_amount",
    "read_auditor_keys",
    "read_certificate",
    "read_entry",
    "read_export",
    "read_issued_list",
    "read_json",
    "read_keys",
    "read_liabilities",
    "read_record",
    "read_signal",
    "read_verifier_key",
    "scores_of",
    "verify_attestations",
    "verify_card",
    "verify_document",
    "verify_liabilities",
    "verify_licence",
    "verify_registry_card",
]

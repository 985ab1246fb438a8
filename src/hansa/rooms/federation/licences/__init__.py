"""Licence certificates: by which registries of different trust domains recognise each other as one network."""

from .held import held_licence
from .issuing import issue_certificate
from .keys import (
    SEALED_LICENSING_KEYS,
    initialize_licensing_key,
    licensing_public_key,
    replace_sealed_licensing_key,
)
from .known_lists import judge_if_newer, known_lists
from .on_card import found_network, join_network, publish_card, renew_card
from .operator_caller import operator_caller
from .operator_held import AnsweredLicence, held_operator_licence, keep_operator_licence
from .reading import issued_licence_id, list_licence_certificates
from .records import (
    CertificateAct,
    CertificateFilter,
    CertificateRequest,
    Delivered,
    HeldOperatorLicence,
    IssuedCertificate,
    LocalLicence,
    Subject,
)
from .rotating import NewLicensingKey, rotate_licensing_key
from .routes import admin_router, peer_router, root_router, router
from .rules import is_mainframe
from .schemas import InstallIn, certificate_request
from .states import change_certificate
from .verifying import (
    VerifiedLicence,
    are_licences_demanded,
    held_delivered,
    judge_licence,
    keep_issued_list,
    licence_verdict,
    own_issued_list,
    stored_licence,
    verify_issued_licence,
    verify_own_licence,
    verify_stated_licence,
)

__all__ = [
    "SEALED_LICENSING_KEYS",
    "AnsweredLicence",
    "CertificateAct",
    "CertificateFilter",
    "CertificateRequest",
    "Delivered",
    "HeldOperatorLicence",
    "InstallIn",
    "IssuedCertificate",
    "LocalLicence",
    "NewLicensingKey",
    "Subject",
    "VerifiedLicence",
    "admin_router",
    "are_licences_demanded",
    "certificate_request",
    "change_certificate",
    "found_network",
    "held_delivered",
    "held_licence",
    "held_operator_licence",
    "initialize_licensing_key",
    "is_mainframe",
    "issue_certificate",
    "issued_licence_id",
    "join_network",
    "judge_if_newer",
    "judge_licence",
    "keep_issued_list",
    "keep_operator_licence",
    "known_lists",
    "licence_verdict",
    "licensing_public_key",
    "list_licence_certificates",
    "operator_caller",
    "own_issued_list",
    "peer_router",
    "publish_card",
    "renew_card",
    "replace_sealed_licensing_key",
    "root_router",
    "rotate_licensing_key",
    "router",
    "stored_licence",
    "verify_issued_licence",
    "verify_own_licence",
    "verify_stated_licence",
]

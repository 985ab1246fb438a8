"""Licence certificates: by which registries of different trust domains recognise each other as one network."""

from .installing import install_certificate
from .issuing import issue_certificate, issue_genesis
from .keys import initialize_licensing_key, licensing_public_key, replace_sealed_licensing_key
from .reading import list_licence_certificates
from .records import (
    CertificateAct,
    CertificateFilter,
    CertificateRequest,
    IssuedCertificate,
    OwnLicence,
    Subject,
)
from .routes import admin_router, root_router, router
from .schemas import certificate_request
from .states import change_certificate

__all__ = [
    "CertificateAct",
    "CertificateFilter",
    "CertificateRequest",
    "IssuedCertificate",
    "OwnLicence",
    "Subject",
    "admin_router",
    "certificate_request",
    "change_certificate",
    "initialize_licensing_key",
    "install_certificate",
    "issue_certificate",
    "issue_genesis",
    "licensing_public_key",
    "list_licence_certificates",
    "replace_sealed_licensing_key",
    "root_router",
    "router",
]

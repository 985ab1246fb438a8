"""Admission: the licence keys by which other registries may read data that are not public."""

from .admit import change_licence, check_licence, issue_licence, list_licences
from .routes import router
from .schemas import IssuedLicenceOut, LicenceIn, LicenceOut

__all__ = [
    "IssuedLicenceOut",
    "LicenceIn",
    "LicenceOut",
    "change_licence",
    "check_licence",
    "issue_licence",
    "list_licences",
    "router",
]

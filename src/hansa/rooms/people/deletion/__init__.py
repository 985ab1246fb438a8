"""The end of an account: asked for, cooled off, carried out."""

from .acts import cancel_deletion, carry_out_due, deletion_status_of, is_account_closed, request_deletion
from .routes import router
from .schemas import DeletionOut
from .store import HAS_DUE

__all__ = [
    "HAS_DUE",
    "DeletionOut",
    "cancel_deletion",
    "carry_out_due",
    "deletion_status_of",
    "is_account_closed",
    "request_deletion",
    "router",
]

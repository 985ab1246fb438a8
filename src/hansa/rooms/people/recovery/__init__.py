"""A new password: with the old one, or with a recovery key or a mailed link when it is lost."""

from .forgotten import FORGOTTEN_PASSWORDS, drop_password_requests
from .grants import check_password_setter, forget_ended
from .routes import router

__all__ = [
    "FORGOTTEN_PASSWORDS",
    "check_password_setter",
    "drop_password_requests",
    "forget_ended",
    "router",
]

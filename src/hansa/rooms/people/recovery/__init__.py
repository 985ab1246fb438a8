"""A new password: with the old one, or with a recovery key or a mailed link when it is lost."""

from .forgotten import answer_forgotten_passwords, leave_forgotten_unanswered
from .grants import check_password_setter, forget_ended
from .routes import router

__all__ = [
    "answer_forgotten_passwords",
    "check_password_setter",
    "forget_ended",
    "leave_forgotten_unanswered",
    "router",
]

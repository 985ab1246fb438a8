"""A new password: with the old one, or with a recovery key or a mailed link when it is lost."""

from .acts import (
    FORGOTTEN_PASSWORDS,
    admit_recovery,
    change_own_password,
    check_password_setter,
    drop_password_requests,
    forget_ended,
    forget_password,
    recover_account,
    renew_keys,
    reset_password,
    set_forgotten_password,
)
from .routes import FORGOTTEN_PER_ADDRESS, RECOVERIES_PER_ADDRESS, router
from .schemas import ChangePasswordIn, ForgottenIn, RecoveryIn, RenewKeysIn, SetPasswordIn

__all__ = [
    "FORGOTTEN_PASSWORDS",
    "FORGOTTEN_PER_ADDRESS",
    "RECOVERIES_PER_ADDRESS",
    "ChangePasswordIn",
    "ForgottenIn",
    "RecoveryIn",
    "RenewKeysIn",
    "SetPasswordIn",
    "admit_recovery",
    "change_own_password",
    "check_password_setter",
    "drop_password_requests",
    "forget_ended",
    "forget_password",
    "recover_account",
    "renew_keys",
    "reset_password",
    "router",
    "set_forgotten_password",
]

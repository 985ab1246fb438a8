"""A new password: with the old one, or with a recovery key or a mailed link when it is lost."""

from .acts import admit_recovery, change_own_password, forget_password, set_forgotten_password
from .forgotten import FORGOTTEN_PASSWORDS, drop_password_requests
from .grants import check_password_setter, forget_ended
from .new_keys import renew_keys
from .new_password import recover_account
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
    "router",
    "set_forgotten_password",
]

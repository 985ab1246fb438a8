"""The end of an account: asked for, cooled off, carried out."""

from .carry_out import carry_out_due
from .ended import is_account_closed
from .routes import router

__all__ = ["carry_out_due", "is_account_closed", "router"]

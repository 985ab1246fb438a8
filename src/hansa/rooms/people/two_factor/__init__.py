"""Two-factor login: an authenticator app, and backup codes for when it is not at hand."""

from .codes import is_on, take_code
from .errors import CodesPaused, CodeWrong
from .routes import router

__all__ = ["CodeWrong", "CodesPaused", "is_on", "router", "take_code"]

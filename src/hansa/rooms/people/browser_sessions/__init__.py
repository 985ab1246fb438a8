"""Sessions of browsers: a token in a cookie in place of developer and refresh tokens.

- A session has a new token at each login; only the SHA-256 of the token is stored.
- It ends after an hour without a request, twelve hours after the login, by logout, and by every change of the password.
- A dangerous act needs the password again when it was last given more than ten minutes ago.
"""

from .opening import (
    BrowserSession,
    OpenBrowserSession,
    check_browser_session,
    confirm_password,
    finish_browser_login,
    finish_login_by_passkey,
    finish_login_by_phone,
    log_in_browser,
)

__all__ = [
    "BrowserSession",
    "OpenBrowserSession",
    "check_browser_session",
    "confirm_password",
    "finish_browser_login",
    "finish_login_by_passkey",
    "finish_login_by_phone",
    "log_in_browser",
]

"""The cookies of the console: the token of a session, of a login that waits for its code, and the sign that there is a session."""

from fastapi.responses import Response

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.web.cookies import drop_cookie, set_cookie

SESSION = "hansa_session"
# Read by `static/shell.js`, so that a visitor without a session asks for no menu of one. It holds no secret and opens nothing.
HAS_SESSION = "hansa_person"
PARTIAL_LOGIN = "hansa_login"
SESSION_SECONDS = 12 * 3600
PARTIAL_LOGIN_SECONDS = 300


def set_session(answer: Response, settings: Settings, token: str) -> None:
    """Let the browser store the token of a session, and that it has one."""
    set_cookie(answer, settings, SESSION, token, SESSION_SECONDS)
    set_cookie(answer, settings, HAS_SESSION, "1", SESSION_SECONDS, is_script_readable=True)


def drop_session(answer: Response, settings: Settings) -> None:
    """Let the browser delete the token of its session."""
    drop_cookie(answer, settings, SESSION)
    drop_cookie(answer, settings, HAS_SESSION)

"""The optimistic check of a caller, and the second check when it may have changed since this process read it (decision 0209).

`compared_agent_caller` accepts an agent as it was read last, and the transaction compares its version. Every other answer comes
after `confirm_caller`, which reads the agent now.
"""

from fastapi import Request

from hansa.foundation.plumbing.process.runtime import runtime_of
from hansa.foundation.plumbing.web.caller import AGENT_CHECK, CALLER, CONFIRMED, Agent, bearer_token
from hansa.foundation.values.errors import Unavailable


class CallerChanged(Exception):
    """The agent has changed since this process read it: the request is judged again from its beginning."""


async def confirm_caller(request: Request) -> None:
    """Read the agent of an optimistic check now: to be called before whatever does not compare its version.

    Raises: CallerChanged, Unauthorized, Forbidden.
    """
    caller = request.scope.get(CALLER)
    if not isinstance(caller, Agent) or caller.version is None:
        return
    runtime = runtime_of(request)
    confirmed = await AGENT_CHECK.of(runtime)(runtime, bearer_token(request))
    request.scope[CALLER] = request.scope[CONFIRMED] = confirmed
    if (caller.roles, caller.is_governed) != (confirmed.roles, confirmed.is_governed):
        raise CallerChanged


async def is_to_be_repeated(request: Request, error: Exception) -> bool:
    """Return whether a request that was refused is to be judged again, because its caller was not as it is now.

    Raises: Unauthorized, Forbidden, where the caller as it is now is refused before anything else.
    """
    if isinstance(error, Unavailable):
        # What it asked for may have been done.
        return False
    try:
        await confirm_caller(request)
    except CallerChanged:
        return True
    return isinstance(error, CallerChanged)

"""Callers of routes. The parameter type in a route's signature is the policy.

- `Public`: anyone. `CurrentDeveloper`: a person, by developer token or by an API key with every scope;
  `developer_holding(scope)`: the same, or an API key with that scope. `ActingDeveloper` and `developer_acting(scope)`: the
  same, unless suspended; every route that changes more than the person's own access and account. `admin_holding(area)`: one who administers that
  area. `CurrentAgent` or `agent_holding(permission)`: one agent, by agent token. The wrong kind of credential is a 401, a
  missing right a 403, before the body is read; with `agent_to_judge(permission)` the handler judges the permission.
- `DeveloperOrAgent`: either; `developer_or_agent_holding(scope)`: either, also an API key with that scope; `developer_or_agent_permitted`: an act,
  of an agent that holds the permission.
- A permission that an agent's roles do not give may come from a capability, where the route says so. `AGENT_RBAC_MODE`
  decides whether a missing one is refused, or only logged.
- `CurrentPasswordSetter`: a person who recovered an account, by the token that sets its password and does nothing else.
- `InternalCaller`: a service of the operator's own, by the internal key or by its certificate, or an admitted registry,
  by its licence key.
- `Observer`: a holder of METRICS_TOKEN or of the internal key, or the machine of the registry; `MaybeObserver`: anyone, and
  whether such a caller is it.
- `ComparedAgent` or `agent_holding(permission, is_compared=True)`: as `CurrentAgent` and `agent_holding`, with the agent as this
  process read it before (optimistic): the transaction of the route compares its version.
- A door that calls a route within the process gives the caller that it accepted (`GIVEN`), in place of a credential.
- The rooms that own developers, agents and federation fill the slots of the checks.
"""

from .agents import (
    ComparedAgent,
    CurrentAgent,
    DeveloperOrAgent,
    agent_caller,
    agent_holding,
    agent_to_judge,
    compared_agent_caller,
    developer_or_agent_caller,
    developer_or_agent_holding,
    developer_or_agent_permitted,
    require_permission,
)
from .callers import (
    Agent,
    AgentSession,
    AgentToJudge,
    Developer,
    Grant,
    PasswordSetter,
    ReadBounds,
)
from .checks import (
    AGENT_CHECK,
    AGENT_REFUSED,
    AGENT_SIGN_IN,
    DEVELOPER_CHECK,
    IS_DEVELOPER_SUSPENDED,
    LAST_READ_AGENT,
    LICENCE_CHECK,
    PASSWORD_SETTER_CHECK,
    SERVICE_CHECK,
    SPENT_UNDER_GRANTS,
    SpentUnderGrants,
    check_developer_or_agent,
    sign_in_agent,
)
from .credentials import API_KEY_SESSION, CALLER, CAPABILITY_HEADER, CONFIRMED, GIVEN, bearer_token
from .developers import (
    CREDENTIAL_OPTIONAL,
    ActingDeveloper,
    CurrentDeveloper,
    CurrentPasswordSetter,
    MaybeDeveloper,
    acting_developer_caller,
    admin_holding,
    developer_acting,
    developer_caller,
    developer_caller_if_any,
    developer_holding,
    maybe_developer_holding,
    password_setter_caller,
    require_scope_if_lacking,
)
from .errors import (
    AdminNeeds2fa,
    AreaMissing,
    AreasWithheld,
    LicenceSuspended,
    PermissionMissing,
    ScopeMissing,
)
from .internal import InternalCaller, Public, anyone, internal_caller
from .observers import MaybeObserver, Observer, anyone_or_observer, observer

__all__ = [
    "AGENT_CHECK",
    "AGENT_REFUSED",
    "AGENT_SIGN_IN",
    "API_KEY_SESSION",
    "CALLER",
    "CAPABILITY_HEADER",
    "CONFIRMED",
    "CREDENTIAL_OPTIONAL",
    "DEVELOPER_CHECK",
    "GIVEN",
    "IS_DEVELOPER_SUSPENDED",
    "LAST_READ_AGENT",
    "LICENCE_CHECK",
    "PASSWORD_SETTER_CHECK",
    "SERVICE_CHECK",
    "SPENT_UNDER_GRANTS",
    "ActingDeveloper",
    "AdminNeeds2fa",
    "Agent",
    "AgentSession",
    "AgentToJudge",
    "AreaMissing",
    "AreasWithheld",
    "ComparedAgent",
    "CurrentAgent",
    "CurrentDeveloper",
    "CurrentPasswordSetter",
    "Developer",
    "DeveloperOrAgent",
    "Grant",
    "InternalCaller",
    "LicenceSuspended",
    "MaybeDeveloper",
    "MaybeObserver",
    "Observer",
    "PasswordSetter",
    "PermissionMissing",
    "Public",
    "ReadBounds",
    "ScopeMissing",
    "SpentUnderGrants",
    "acting_developer_caller",
    "admin_holding",
    "agent_caller",
    "agent_holding",
    "agent_to_judge",
    "anyone",
    "anyone_or_observer",
    "bearer_token",
    "check_developer_or_agent",
    "compared_agent_caller",
    "developer_acting",
    "developer_caller",
    "developer_caller_if_any",
    "developer_holding",
    "developer_or_agent_caller",
    "developer_or_agent_holding",
    "developer_or_agent_permitted",
    "internal_caller",
    "maybe_developer_holding",
    "observer",
    "password_setter_caller",
    "require_permission",
    "require_scope_if_lacking",
    "sign_in_agent",
]

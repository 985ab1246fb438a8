"""Refusals of the agents room."""

from hansa.foundation.values.errors import Conflict, Forbidden, Invalid, NotFound, Unauthorized


class DeveloperUnverified(Forbidden):
    """The developer's e-mail address is not verified yet."""

    code = "DEVELOPER_UNVERIFIED"
    sentence = "Your e-mail address is not verified: verify it before you create agents."
    remedy = "Follow the link in the verification e-mail; log in to receive a new one."


class BootstrapTokenRefused(Unauthorized):
    """The Bootstrap-Token header is missing, or its token is unknown or expired."""

    sentence = "A valid bootstrap token is required in the Bootstrap-Token header."


class BootstrapTokenUsed(Conflict):
    """The bootstrap token was used already; each token creates one agent."""

    code = "BOOTSTRAP_TOKEN_USED"
    sentence = "This bootstrap token was used already; request a new one for each agent."
    remedy = "Request a new bootstrap token for each agent."


class DidMethodUnsupported(Invalid):
    """The registry does not support this DID method."""

    code = "DID_METHOD_UNSUPPORTED"


class CredentialsWrong(Unauthorized):
    """The client id is unknown or the client secret is wrong."""

    sentence = "The client id or the client secret is wrong."


class AgentSuspended(Forbidden):
    """The agent is suspended."""

    code = "AGENT_SUSPENDED"
    sentence = "This agent is suspended."
    remedy = "Contact the administrators of the registry."


class AgentOfCaller(Forbidden):
    """The agent belongs to the administrator."""

    code = "OWN_AGENT"
    sentence = "The agent is your own: another administrator must do this."


class AgentRevoked(Forbidden):
    """The agent is permanently revoked."""

    code = "AGENT_REVOKED"
    sentence = "This agent is revoked."
    remedy = "A revoked agent cannot be used again; create a new agent."


class AgentUnknown(NotFound):
    """No agent of this registry has this DID."""

    sentence = "No agent of this registry has this DID."


class NotTheOwner(Forbidden):
    """The agent belongs to another developer."""

    code = "NOT_THE_OWNER"
    sentence = "Only the developer who owns this agent may do this."


class AgentRevokedForGood(Conflict):
    """The agent is permanently revoked and cannot be changed."""

    code = "AGENT_REVOKED"
    sentence = "This agent is permanently revoked; its roles cannot be changed."
    remedy = "A revoked agent cannot be used again; create a new agent."

"""What the agents room refuses."""

from hansa.foundation.values.errors import Conflict, Forbidden, Invalid, NotFound, Unauthorized


class DeveloperUnverified(Forbidden):
    """The developer's e-mail address is not verified yet."""

    code = "DEVELOPER_UNVERIFIED"
    sentence = "Verify your e-mail address before you create agents."


class BootstrapTokenRefused(Unauthorized):
    """The Bootstrap-Token header is missing, or its token is unknown or expired."""

    sentence = "A valid bootstrap token is required in the Bootstrap-Token header."


class BootstrapTokenUsed(Conflict):
    """The bootstrap token has created its agent already."""

    code = "BOOTSTRAP_TOKEN_USED"
    sentence = "This bootstrap token has been used; each creates one agent."


class DidMethodUnsupported(Invalid):
    """The registry mints DIDs of another method."""

    code = "DID_METHOD_UNSUPPORTED"


class CredentialsWrong(Unauthorized):
    """The client id is unknown or the client secret is wrong."""

    sentence = "The client id or the client secret is wrong."


class AgentSuspended(Forbidden):
    """The agent is suspended."""

    code = "AGENT_SUSPENDED"
    sentence = "This agent is suspended."


class AgentRevoked(Forbidden):
    """The agent is revoked for good."""

    code = "AGENT_REVOKED"
    sentence = "This agent is revoked."


class AgentUnknown(NotFound):
    """No agent of this registry has that DID."""

    sentence = "No agent of this registry has that DID."


class NotTheOwner(Forbidden):
    """The agent belongs to another developer."""

    code = "NOT_THE_OWNER"
    sentence = "Only the developer who owns this agent may do that."


class AgentRevokedForGood(Conflict):
    """The agent is revoked: nothing about it changes any more."""

    code = "AGENT_REVOKED_FOR_GOOD"
    sentence = "This agent is revoked for good; it gets no more roles."

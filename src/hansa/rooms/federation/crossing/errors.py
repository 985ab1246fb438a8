"""Why nothing crosses to or from a registry, or an agent."""

from hansa.foundation.values.errors import Conflict, Forbidden


class PeerPaused(Conflict):
    """The peer is paused, quarantined or not active: nothing new crosses; what is under way is decided."""

    code = "PEER_PAUSED"
    sentence = "Nothing new is exchanged with this peer now: it is paused, quarantined or not active."
    remedy = "Ask the administrators of this registry."


class LicenceRequired(Forbidden):
    """Both registries need a licence of the same network, verified now."""

    code = "LICENCE_REQUIRED"
    sentence = "Transfers between these registries need valid licences of both."
    remedy = "See error.context for the verdict; ask the operator of that registry to renew its licence."


class PeerSuspended(Forbidden):
    """The score of the peer is so low that nothing crosses."""

    code = "PEER_SUSPENDED"
    sentence = "Nothing crosses to or from this peer: its trust score is below PEER_TRUST_SUSPEND_BELOW."
    remedy = "Ask the administrators of this registry for the evidence (/admin/federation/peer-trust)."


class AgentBlocked(Forbidden):
    """The agent is on the blocklist."""

    code = "AGENT_BLOCKED"
    sentence = "Transfers to and from this agent are blocked."

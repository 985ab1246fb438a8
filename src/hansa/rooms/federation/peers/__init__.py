"""Other registries as peers: who they are, how they are called, and what was refused of them."""

from .calling import OWN_CERTIFICATE, PEER_CALLS, OwnCertificate, call_peer, connections_to_peers
from .check import RECOGNISED_LEAVES, RecognisedLeaves, check_peer
from .errors import FederationOff, PeerAmbiguous, PeerExists, PeerUnknown, RootCollision
from .joining import add_peer, store_card
from .judging import CardRefused, ExpectedRegistry, judge_card
from .reading import (
    count_refusal,
    peer_by_id,
    peer_by_name,
    peer_by_spiffe_id,
    peer_for_namespace,
    peers,
    refusals_of,
    trust_version,
    trusted_bundles,
)
from .records import NewPeer, PeerRecord, VerifiedCard
from .slots import PEER_REMOVED, SYNC_PEER, SyncOutcome
from .sync_store import note_synced, open_peer_ids

__all__ = [
    "OWN_CERTIFICATE",
    "PEER_CALLS",
    "PEER_REMOVED",
    "RECOGNISED_LEAVES",
    "SYNC_PEER",
    "CardRefused",
    "ExpectedRegistry",
    "FederationOff",
    "NewPeer",
    "OwnCertificate",
    "PeerAmbiguous",
    "PeerExists",
    "PeerRecord",
    "PeerUnknown",
    "RecognisedLeaves",
    "RootCollision",
    "SyncOutcome",
    "VerifiedCard",
    "add_peer",
    "call_peer",
    "check_peer",
    "connections_to_peers",
    "count_refusal",
    "judge_card",
    "note_synced",
    "open_peer_ids",
    "peer_by_id",
    "peer_by_name",
    "peer_by_spiffe_id",
    "peer_for_namespace",
    "peers",
    "refusals_of",
    "store_card",
    "trust_version",
    "trusted_bundles",
]

"""Other registries as peers: their identities, how they are called, and the refusals of their requests and documents."""

from .acts import AutoSlash, finish_removals, pause_peer, remove_peer, resume_peer, set_auto_slash
from .adding import add_by_hand, callable_address, new_peer, require_name
from .admin_routes import peers_admin_router
from .calling import CALL_LIMITS, PEER_CALLS, call_peer, connections_to_peers
from .check import check_peer
from .document_marks import DocumentMarks, marks_router, own_marks
from .errors import (
    PeerAmbiguous,
    PeerDocumentRefused,
    PeerNameRefused,
    PeerRemoving,
    PeerUnknown,
    PeerUnreachable,
    RootCollision,
)
from .joining import add_peer, admit_peer, store_card
from .judging import CardRefused, ExpectedRegistry, judge_card
from .keys_in_force import keys_in_force, with_present_keys
from .local_bundle import FOLLOW_AUTHORITY, local_bundle, published_for
from .meeting import bundle_in_document, read_publicly
from .public_routes import bundle_router, public_router
from .public_schemas import NodeOut, RosterPeer, TopologyOut
from .reading import (
    count_refusal,
    database_time,
    find_registry,
    peer_by_id,
    peer_by_name,
    peer_by_spiffe_id,
    peers,
    peers_of_namespace,
    refusals_of,
    trust_version,
    trusted_bundles,
)
from .records import NET_IN_LIMIT_DEFAULT, NewPeer, PeerRecord, PeerStatus, PeerType, VerifiedCard
from .refreshing import refresh_peer
from .schemas import CardVerdictOut, NetInLimit, PeerOut, SyncOut, minor_limit
from .self_hosted_card import HomeRefused, read_home
from .slots import (
    DISCOVERED,
    PEER_ENDED,
    PEER_REMOVED,
    PEER_SETTLED,
    SYNC_PEER,
    DiscoveredRegistry,
    ReadDiscovered,
    SyncOutcome,
)
from .store import note_synced
from .synchronizing import JOB, READ_A_PEER, enqueue_missing, read_if_changed, sync_by_name
from .topology import read_topology
from .uncertified import doubt_operators, follow_frame
from .views import PeerView, list_peers, view_by_name, view_of

__all__ = [
    "CALL_LIMITS",
    "DISCOVERED",
    "FOLLOW_AUTHORITY",
    "JOB",
    "NET_IN_LIMIT_DEFAULT",
    "PEER_CALLS",
    "PEER_ENDED",
    "PEER_REMOVED",
    "PEER_SETTLED",
    "READ_A_PEER",
    "SYNC_PEER",
    "AutoSlash",
    "CardRefused",
    "CardVerdictOut",
    "DiscoveredRegistry",
    "DocumentMarks",
    "ExpectedRegistry",
    "HomeRefused",
    "NetInLimit",
    "NewPeer",
    "NodeOut",
    "PeerAmbiguous",
    "PeerDocumentRefused",
    "PeerNameRefused",
    "PeerOut",
    "PeerRecord",
    "PeerRemoving",
    "PeerStatus",
    "PeerType",
    "PeerUnknown",
    "PeerUnreachable",
    "PeerView",
    "ReadDiscovered",
    "RootCollision",
    "RosterPeer",
    "SyncOut",
    "SyncOutcome",
    "TopologyOut",
    "VerifiedCard",
    "add_by_hand",
    "add_peer",
    "admit_peer",
    "bundle_in_document",
    "bundle_router",
    "call_peer",
    "callable_address",
    "check_peer",
    "connections_to_peers",
    "count_refusal",
    "database_time",
    "doubt_operators",
    "enqueue_missing",
    "find_registry",
    "finish_removals",
    "follow_frame",
    "judge_card",
    "keys_in_force",
    "list_peers",
    "local_bundle",
    "marks_router",
    "minor_limit",
    "new_peer",
    "note_synced",
    "own_marks",
    "pause_peer",
    "peer_by_id",
    "peer_by_name",
    "peer_by_spiffe_id",
    "peers",
    "peers_admin_router",
    "peers_of_namespace",
    "public_router",
    "published_for",
    "read_home",
    "read_if_changed",
    "read_publicly",
    "read_topology",
    "refresh_peer",
    "refusals_of",
    "remove_peer",
    "require_name",
    "resume_peer",
    "set_auto_slash",
    "store_card",
    "sync_by_name",
    "trust_version",
    "trusted_bundles",
    "view_by_name",
    "view_of",
    "with_present_keys",
]

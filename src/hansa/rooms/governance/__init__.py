"""Governance: agents vote with their stakes on proposals."""

from hansa.rooms.governance.administering import apply, decline, reset, veto
from hansa.rooms.governance.auditing import vote_gaps
from hansa.rooms.governance.descriptor import ROOM
from hansa.rooms.governance.reading import (
    read_own_vote,
    read_power,
    read_proposal,
    read_proposals,
    read_undecided,
    read_votes,
)
from hansa.rooms.governance.records import Proposal
from hansa.rooms.governance.replaying import BONDS, FEES, PEER_TRUST, REPLAYED, replay_command
from hansa.rooms.governance.schemas import GovernanceReasonIn

__all__ = [
    "BONDS",
    "FEES",
    "PEER_TRUST",
    "REPLAYED",
    "ROOM",
    "GovernanceReasonIn",
    "Proposal",
    "apply",
    "decline",
    "read_own_vote",
    "read_power",
    "read_proposal",
    "read_proposals",
    "read_undecided",
    "read_votes",
    "replay_command",
    "reset",
    "veto",
    "vote_gaps",
]

"""Governance: agents vote with their stakes on proposals."""

from hansa.rooms.governance.auditing import vote_gaps
from hansa.rooms.governance.descriptor import ROOM
from hansa.rooms.governance.reading import read_proposal, read_proposals, read_votes

__all__ = ["ROOM", "read_proposal", "read_proposals", "read_votes", "vote_gaps"]

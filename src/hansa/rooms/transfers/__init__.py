from hansa.rooms.transfers.bulk import ApprovalRequired
from hansa.rooms.transfers.descriptor import ROOM

__all__ = ["ROOM", "ApprovalRequired"]

from hansa.rooms.transfers.bulk import ApprovalRequired
from hansa.rooms.transfers.crossing import CROSSING_JOBS, UndecidedTransfer, undecided_transfers
from hansa.rooms.transfers.descriptor import ROOM

__all__ = ["CROSSING_JOBS", "ROOM", "ApprovalRequired", "UndecidedTransfer", "undecided_transfers"]

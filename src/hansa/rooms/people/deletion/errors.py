"""What is refused to whoever wants an account deleted, or kept after all."""

from hansa.foundation.values.errors import Conflict


class DeletionBlocked(Conflict):
    """The account's agents still hold what would be lost with them; `blockers` names each such thing."""

    code = "DELETION_BLOCKED"
    sentence = "The account cannot be deleted while its agents hold something; `blockers` says what."


class DeletionNotRequested(Conflict):
    """There is no deletion that could be cancelled: none was asked for, or it was cancelled or has begun."""

    code = "DELETION_NOT_REQUESTED"
    sentence = "No deletion of this account waits to be carried out."

"""Refusals of requesting and cancelling the deletion of an account."""

from hansa.foundation.values.errors import Conflict


class DeletionBlocked(Conflict):
    """The account's agents still hold units or stakes; `blockers` lists them."""

    code = "DELETION_BLOCKED"
    sentence = "The account cannot be deleted while its agents hold units or stakes; `blockers` lists them."


class DeletionNotRequested(Conflict):
    """No deletion can be cancelled: none was requested, or it was cancelled or has begun."""

    code = "DELETION_NOT_REQUESTED"
    sentence = "No deletion of this account is pending."

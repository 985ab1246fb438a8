"""What reputation refuses."""

from hansa.foundation.values.errors import NotFound


class NoEpochYet(NotFound):
    """No scores have been computed yet."""

    code = "NO_EPOCH_YET"
    sentence = "No scores have been computed yet."
    remedy = "Retry after a minute: the first scores are computed soon after the registry starts."

"""Why a search is refused."""

from hansa.foundation.values.errors import Unavailable


class SearchNotReady(Unavailable):
    """The process has not read every card yet, so it cannot say what there is."""

    code = "SEARCH_NOT_READY"
    sentence = "The search index is still being built."

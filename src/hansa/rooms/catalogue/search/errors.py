"""Why a search is refused."""

from hansa.foundation.values.errors import Unavailable


class SearchNotReady(Unavailable):
    """The search index of this process is still being built."""

    code = "SEARCH_NOT_READY"
    sentence = "The search index is still being built; retry shortly."

"""Why no proof is given."""

from hansa.foundation.values.errors import NotFound


class NoLiabilities(NotFound):
    """The newest audit cycle has no tree."""

    code = "NO_LIABILITIES"
    sentence = (
        "The newest audit cycle has no tree over the accounts: retry after the next cycle, in a minute."
    )


class NotCounted(NotFound):
    """The account is not in the tree: it held nothing at the audit cycle."""

    code = "NOT_COUNTED"
    sentence = "The newest audit cycle does not count this account: it held nothing, or was opened after it."

"""Errors of logs."""

from hansa.foundation.values.errors import QuotaReached


class LogRateReached(QuotaReached):
    """The agent's log takes no more entries in this minute; nothing of the request was stored."""

    sentence = "The log takes 600 entries of an agent a minute; nothing of this request was stored."
    remedy = "Send the entries again after the time in the Retry-After header, or write fewer of them."

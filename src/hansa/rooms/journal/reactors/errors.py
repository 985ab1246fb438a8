"""Errors of reactors."""

from hansa.foundation.values.errors import NotFound


class ReactorUnknown(NotFound):
    """The registry has no reactor with this name."""

    sentence = "The registry has no reactor with this name."

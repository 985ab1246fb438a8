"""What the room refuses."""

from hansa.foundation.values.errors import NotFound


class DeveloperUnknown(NotFound):
    """No developer has this id."""

    sentence = "No developer has this id."

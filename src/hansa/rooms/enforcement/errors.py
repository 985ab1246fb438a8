"""What the room refuses."""

from hansa.foundation.values.errors import NotFound


class DeveloperUnknown(NotFound):
    """There is no developer of that id."""

    sentence = "There is no developer of that id."

"""Why the log refuses."""

from hansa.foundation.values.errors import NotFound

ANY_ORIGIN = {"Access-Control-Allow-Origin": "*"}


class _NotInLog(NotFound):
    def __init__(self) -> None:
        super().__init__(headers=ANY_ORIGIN)


class LogEmpty(_NotInLog):
    """The log has no checkpoint yet."""

    code = "LOG_EMPTY"
    sentence = "The log has no checkpoint yet: retry in a minute."


class LeafUnknown(_NotInLog):
    """The log has no such leaf yet, or never had so many."""

    code = "LEAF_NOT_FOUND"
    sentence = "The log has no such leaf; a new object becomes a leaf at the next checkpoint."


class TileUnknown(_NotInLog):
    """The log has no such tile, or the tile is not that wide yet."""

    code = "TILE_NOT_FOUND"
    sentence = "The log has no such tile, or it is not that wide yet."

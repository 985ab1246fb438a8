"""Refusals of the MCP registry API."""

from hansa.foundation.values.errors import NotFound

ANY_ORIGIN = {"Access-Control-Allow-Origin": "*"}


class ServerUnknown(NotFound):
    """No server has this name, or the server has no such version."""

    code = "SERVER_UNKNOWN"
    sentence = "No server has this name and version."

    def __init__(self) -> None:
        super().__init__(headers=ANY_ORIGIN)

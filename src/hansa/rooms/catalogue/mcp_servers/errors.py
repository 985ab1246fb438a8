"""Refusals of the MCP registry API and of imports."""

from collections.abc import Sequence

from hansa.foundation.values.errors import Invalid, NotFound

from .server_json import PointedTrouble

ANY_ORIGIN = {"Access-Control-Allow-Origin": "*"}
FIELD_MAX = 256


class ServerUnknown(NotFound):
    """No server has this name, or the server has no such version."""

    code = "SERVER_UNKNOWN"
    sentence = "No server has this name and version."

    def __init__(self) -> None:
        super().__init__(headers=ANY_ORIGIN)


class ServerJsonInvalid(Invalid):
    """The server.json has another form than the registry takes, or none was served; `context.errors` has a JSON Pointer for each error."""

    code = "SERVER_JSON_INVALID"

    @classmethod
    def of(cls, root: str, troubles: Sequence[PointedTrouble]) -> "ServerJsonInvalid":
        """Return the refusal with the troubles of the document at the pointer `root` of the request."""
        errors = [{"pointer": f"{root}{one.pointer}", "message": one.message} for one in troubles]
        first = errors[0]
        return cls(
            f"{first['pointer'][:FIELD_MAX]}: {first['message']}",
            field=first["pointer"][:FIELD_MAX],
            context={"errors": errors},
        )

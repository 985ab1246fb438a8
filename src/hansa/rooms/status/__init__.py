"""Status of the registry: measured states and uptime of its components, and incidents that administrators state."""

from .checks import CHECKS, MCP_PRESENCE, Checks, McpPresence
from .descriptor import ROOM
from .errors import IncidentUnknown
from .incidents import find_incident, open_incident, update_incident
from .reading import read_incidents, read_status
from .records import COMPONENTS, Incident
from .schemas import ComponentOut, DayOut, IncidentIn, IncidentOut, IncidentUpdateIn, PublicStatus

__all__ = [
    "CHECKS",
    "COMPONENTS",
    "MCP_PRESENCE",
    "ROOM",
    "Checks",
    "ComponentOut",
    "DayOut",
    "Incident",
    "IncidentIn",
    "IncidentOut",
    "IncidentUnknown",
    "IncidentUpdateIn",
    "McpPresence",
    "PublicStatus",
    "find_incident",
    "open_incident",
    "read_incidents",
    "read_status",
    "update_incident",
]

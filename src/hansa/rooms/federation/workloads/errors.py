"""Why a service gets or loses no certificate."""

from hansa.foundation.values.errors import BadRequest, NotFound


class ServiceNameRefused(BadRequest):
    """The name cannot stand in a SPIFFE id."""

    code = "SERVICE_NAME_REFUSED"
    sentence = "A service is named by 1 to 63 lower-case letters, digits and hyphens."


class ServiceUnknown(NotFound):
    """No certificate of that service is in force."""

    code = "SERVICE_UNKNOWN"
    sentence = "No certificate of that service is in force."

"""Why a service gets or loses no certificate."""

from hansa.foundation.values.errors import BadRequest, NotFound


class ServiceNameRefused(BadRequest):
    """The name is not valid in a SPIFFE id."""

    code = "SERVICE_NAME_REFUSED"
    sentence = "A service name must have 1 to 63 lower-case letters, digits and hyphens."


class ServiceUnknown(NotFound):
    """No valid certificate of this service exists."""

    code = "SERVICE_UNKNOWN"
    sentence = "No valid certificate of this service exists."

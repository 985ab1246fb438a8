"""Refusals of changes of governed settings."""

from hansa.foundation.values.errors import Conflict, Invalid


class ParameterUnknown(Invalid):
    """No governed setting has this name."""

    code = "PARAMETER_UNKNOWN"
    sentence = "No governed setting has this name."
    remedy = "Use a name of GET /api/v1/governance/parameters."


class ParameterValueInvalid(Invalid):
    """The value has the wrong type or is outside the bounds of the setting."""

    code = "PARAMETER_INVALID"
    sentence = "The value has the wrong type or is outside the bounds of the setting."
    remedy = "Use a value within the bounds that GET /api/v1/governance/parameters states."


class ParameterCombinationRefused(Invalid):
    """The values would not fit together at the moment of the change or later."""

    code = "PARAMETER_COMBINATION"
    sentence = "The values do not fit together."
    remedy = "Change the settings that depend on each other together."


class ParameterStale(Conflict):
    """The stated present value is not the value of the setting then, or another change of it is pending."""

    code = "PARAMETER_STALE"
    sentence = "The stated present value is not the value of the setting."
    remedy = "Read GET /api/v1/governance/parameters, then state the present value."


class ParameterUnderWay(Conflict):
    """The change is in force, or so close that processes hold it already; it cannot be withdrawn."""

    code = "PARAMETER_UNDER_WAY"
    sentence = "The change is in force or takes effect within a minute; it cannot be withdrawn."
    remedy = "Wait until the change is in force, then decide on another one."


class ParameterNotGoverned(Conflict):
    """The setting has no governed value."""

    code = "PARAMETER_NOT_GOVERNED"
    sentence = "The setting has the value of the environment already."
    remedy = "Read GET /api/v1/governance/parameters."

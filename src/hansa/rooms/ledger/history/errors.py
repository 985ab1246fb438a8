"""Why the past is not shown."""

from hansa.foundation.values.errors import Invalid


class MomentInvalid(Invalid):
    """`as_of` is neither a past time with its offset nor a sequence number of the journal."""

    code = "MOMENT_INVALID"
    sentence = "`as_of` must be a past ISO 8601 time with its offset, or a sequence number of the journal."

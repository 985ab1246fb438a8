"""Why the auditor refuses."""

from hansa.foundation.values.errors import Conflict, Forbidden, NotFound, Unavailable


class AttestationUnknown(NotFound):
    """There is no such attestation, or the chain has no record yet."""

    code = "ATTESTATION_NOT_FOUND"
    sentence = "There is no such attestation."


class NoNativeBaseline(Conflict):
    """The native baseline cannot be removed, because none is set."""

    code = "NO_NATIVE_BASELINE"
    sentence = "No native baseline is set."


class BaselineRefused(Forbidden):
    """A native baseline states units that circulate without an event of their issue: an operator registry has none."""

    code = "BASELINE_REFUSED"
    sentence = "An operator registry has no native baseline: it issues no units."


class NotAuditedYet(Conflict):
    """The transit baseline comes from the last audit cycle, and there was none yet."""

    code = "NOT_AUDITED_YET"
    sentence = "No audit cycle has ended yet: retry in a minute."


class AuditorKeySealed(Unavailable):
    """The auditor's signing key was encrypted with a different sealing key than this process has."""

    code = "AUDITOR_KEY_SEALED"
    sentence = (
        "The auditor's signing key does not open with the sealing key in DIR/keys: restore that file,"
        " or begin a new key with `hansa keys rotate-auditor`."
    )


class AuditorKeyMissing(Unavailable):
    """The auditor has no signing key; the member `keys` of the problem document is an empty list."""

    code = "AUDITOR_KEY_MISSING"
    sentence = "The auditor has no signing key."

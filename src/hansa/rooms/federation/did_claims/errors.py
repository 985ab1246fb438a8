"""Why a claim of a DID is refused."""

from hansa.foundation.values.errors import Conflict, Forbidden, Unavailable


class DidClaimed(Conflict):
    """The frame of the trust domain knows the DID as that of another registry."""

    code = "DID_CLAIMED"
    sentence = "Another registry of this trust domain holds a DID of this request; no claim of the request was changed."
    remedy = "Repeat the request without the digests in error.context.digests."


class DidQuotaReached(Forbidden):
    """The operator registry holds as many DIDs as one may hold at this frame."""

    code = "DID_QUOTA_REACHED"
    sentence = (
        "This operator registry would hold more DIDs than one may hold at this frame (OPERATOR_DIDS_MAX);"
        " no claim of the request was written."
    )
    remedy = "Ask the administrators of the frame to raise OPERATOR_DIDS_MAX; claims are repeated until then."


class NotInThisFrame(Forbidden):
    """The caller is no operator registry of this frame."""

    code = "NOT_IN_THIS_FRAME"
    sentence = "Claims of DIDs are kept by the frame of a trust domain for the operator registries of that trust domain."
    remedy = "Call the registry whose ledger id is your trust domain."


class DidNotConfirmed(Unavailable):
    """The frame has not confirmed yet that this registry holds the DID."""

    code = "DID_NOT_CONFIRMED"
    sentence = "The frame of this trust domain has not confirmed the DID of this agent yet."
    remedy = "Repeat the request: the registry sends its claims to the frame again until it answers."


class DidRefused(Conflict):
    """The frame refused the claim of this registry on the DID."""

    code = "DID_REFUSED"
    sentence = "The frame of this trust domain knows the DID of this agent as that of another registry."
    remedy = "Create another agent; this one does not take part in transfers between registries."

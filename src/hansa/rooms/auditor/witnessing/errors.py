"""Why a witness refuses a checkpoint. The statuses are those of C2SP tlog-witness."""

from hansa.foundation.values.errors import BadRequest, Forbidden, Invalid, NotFound, Unavailable


class SubmissionInvalid(BadRequest):
    """The body is not an add-checkpoint request, or its old size is above that of the checkpoint."""

    code = "CHECKPOINT_INVALID"


class OriginUnknown(NotFound):
    """The witness does not cosign that log."""

    code = "ORIGIN_UNKNOWN"
    sentence = (
        "This witness does not cosign a log of that origin: its operator adds the key to WITNESSED_LOGS."
    )


class NotSigned(Forbidden):
    """No trusted key of the log signed the checkpoint."""

    code = "CHECKPOINT_NOT_SIGNED"
    sentence = "No trusted key of the log signed the checkpoint."


class NotConsistent(Invalid):
    """The proof does not show that the log continues the checkpoint that was cosigned last."""

    code = "CHECKPOINT_NOT_CONSISTENT"
    sentence = "The proof does not show that the log continues the checkpoint that was cosigned last."


class NothingCosigned(NotFound):
    """The witness has cosigned no checkpoint of that log."""

    code = "NOTHING_COSIGNED"
    sentence = "This witness has cosigned no checkpoint of a log of that origin."


class WitnessKeySealed(Unavailable):
    """The key of the witness was encrypted with a different sealing key than this process has."""

    code = "WITNESS_KEY_SEALED"
    sentence = "The key of this witness does not open with the sealing key in DIR/keys: restore that file."

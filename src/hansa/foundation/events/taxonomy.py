"""Event types of the specification whose policies differ from those of the other types.

Those that this version does not emit yet are known all the same: a channel of theirs can be subscribed to, and a policy
about them is judged as it will be once they are emitted.
"""

RECORDED_FROM_BOTH_SIDES = frozenset({"BalanceCorrected", "DisputeCompensationMinted", "DisputeSlash"})
"""They correct, issue or destroy units: no emission policy may switch them off, whoever emits them."""

NOT_EMITTED_YET = frozenset(
    {
        "BalanceCorrected",
        "RewardsAutoCompounded",
    }
)

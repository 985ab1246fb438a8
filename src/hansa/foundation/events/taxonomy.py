"""Event types of the specification that this version does not emit yet.

They are known all the same: a channel of theirs can be subscribed to, and a policy about them is judged as it will be
once they are emitted.
"""

ALWAYS_RECORDED_LATER = frozenset({"BalanceCorrected", "DisputeCompensationMinted", "DisputeSlash"})
"""They correct, issue or destroy units: no emission policy may switch them off."""

NOT_EMITTED_YET = ALWAYS_RECORDED_LATER | {
    "CrossRegistryTransferCompleted",
    "PeerRegistryDeactivated",
    "ProposalCreated",
    "ProposalTallied",
    "RegistryFederated",
    "RegistryQuarantined",
    "RewardsAutoCompounded",
    "VoteCast",
}

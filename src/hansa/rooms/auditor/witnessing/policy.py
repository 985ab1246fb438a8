"""The policy of the own log as text (C2SP tlog-policy): its key, its witnesses, and how many of them have to cosign."""

from collections.abc import Sequence

from hansa_verify import ML_DSA_WITNESS_KEY, WITNESS_KEY, VerifierKey

from .records import Witness

GROUP = "witnesses"
_SUFFIX = {WITNESS_KEY: "", ML_DSA_WITNESS_KEY: "-ml-dsa-44"}


def policy_text(log_keys: Sequence[VerifierKey], address: str, witnesses: Sequence[Witness]) -> str:
    """A line for each key of the log and of each witness; the quorum is a majority of the witnesses, or none without any.

    A witness with two keys is a group of which either is enough.
    """
    lines = [f"log {key.text} {address}" for key in log_keys]
    names = []
    for number, one in enumerate(witnesses, start=1):
        members = [f"witness-{number}{_SUFFIX[key.kind]}" for key in one.keys]
        lines += [
            f"witness {name} {key.text} {one.address}" for name, key in zip(members, one.keys, strict=True)
        ]
        if len(members) > 1:
            lines.append(f"group either-{number} any {' '.join(members)}")
        names.append(members[0] if len(members) == 1 else f"either-{number}")
    if not names:
        return "\n".join([*lines, "quorum none"]) + "\n"
    majority = majority_of(names)
    return "\n".join([*lines, f"group {GROUP} {majority} {' '.join(names)}", f"quorum {GROUP}"]) + "\n"


def majority_of(witnesses: Sequence[object]) -> int:
    """How many of the witnesses are the quorum."""
    return len(witnesses) // 2 + 1

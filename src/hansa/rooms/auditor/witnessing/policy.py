"""The policy of the own log as text (C2SP tlog-policy): its key, its witnesses, and how many of them have to cosign."""

from collections.abc import Sequence

from hansa_verify import VerifierKey

from .records import Witness

GROUP = "witnesses"


def policy_text(log_keys: Sequence[VerifierKey], address: str, witnesses: Sequence[Witness]) -> str:
    """A line for each key of the log and each witness; the quorum is a majority of the witnesses, or none without any."""
    lines = [f"log {key.text} {address}" for key in log_keys]
    names = [f"witness-{number}" for number, _ in enumerate(witnesses, start=1)]
    lines += [
        f"witness {name} {one.key.text} {one.address}" for name, one in zip(names, witnesses, strict=True)
    ]
    if not names:
        return "\n".join([*lines, "quorum none"]) + "\n"
    majority = len(names) // 2 + 1
    return "\n".join([*lines, f"group {GROUP} {majority} {' '.join(names)}", f"quorum {GROUP}"]) + "\n"

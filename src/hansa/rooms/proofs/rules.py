"""Binding of public inputs to a holder and a subject, without I/O.

- A public input is a canonical decimal below the order of the group, so that each value has one form.
- The input of the holder is SHA-256 of its DID modulo that order, that of the subject likewise of `token:<id>` or `contract:<id>`.
- Attestations are identified by circuit and inputs, never by the bytes of a proof: anybody can make another proof of one.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from hashlib import sha256
from typing import Any

from hansa.foundation.values.errors import Invalid

from .errors import InputsInvalid, KeyInvalid, ProofsDisabled
from .records import Circuit, NewCircuit, Submission

GROUP_ORDER = 21888242871839275222246405745257275088548364400416034343698204186575808495617
FIELD_ORDER = 21888242871839275222246405745257275088696311157297823662689037894645226208583
"""The order of the groups of BN254, and that of the field of their coordinates."""
INPUTS_MAX = 32
SUBMISSIONS_PER_DAY = 20
VALIDITY = timedelta(days=90)
SUBMITTING, REDUCING = 1, 2
"""The phases of ZKP_PHASES."""
_DECIMAL = re.compile("0|[1-9][0-9]{0,76}")


def require_enabled(phases: list[int]) -> None:
    """Raises: ProofsDisabled."""
    if SUBMITTING not in phases:
        raise ProofsDisabled


def signal_of(text: str) -> str:
    """The public input that names a DID or a subject."""
    return str(int.from_bytes(sha256(text.encode()).digest(), "big") % GROUP_ORDER)


def digest_of(public_inputs: tuple[str, ...]) -> bytes:
    """The digest that identifies an attestation of a circuit."""
    return sha256(",".join(public_inputs).encode()).digest()


def require_places(circuit: NewCircuit) -> None:
    """The places of holder and subject are inputs of the key, and two of them. Raises: KeyInvalid."""
    inputs = len(circuit.verification_key["IC"]) - 1
    if circuit.verification_key["nPublic"] != inputs:
        raise KeyInvalid(
            f"nPublic is one less than the number of points in IC, {inputs}.",
            field="verification_key.nPublic",
        )
    for name in ("holder_input", "context_input"):
        place = getattr(circuit, name)
        if place is not None and place >= inputs:
            raise KeyInvalid(f"{name} is a place from 0 to {inputs - 1}.", field=name)
    if circuit.holder_input == circuit.context_input:
        raise KeyInvalid("holder_input and context_input are two places.", field="context_input")


def require_bound(circuit: Circuit, submission: Submission) -> None:
    """The inputs are those of the circuit, of this holder and of this subject. Raises: InputsInvalid."""
    inputs = submission.public_inputs
    if len(inputs) != circuit.inputs:
        raise InputsInvalid(f"The circuit has {circuit.inputs} public inputs.", field="public_inputs")
    if inputs[circuit.holder_input] != signal_of(submission.agent_did):
        raise InputsInvalid(
            f"public_inputs[{circuit.holder_input}] is SHA-256 of your DID modulo the order of the group.",
            field=f"public_inputs[{circuit.holder_input}]",
        )
    place, context = circuit.context_input, submission.context
    if place is None:
        if context is not None:
            raise InputsInvalid("The circuit has no input for a context.", field="context")
    elif context is None:
        raise InputsInvalid("The circuit has an input for a context, and none is given.", field="context")
    elif inputs[place] != signal_of(context):
        raise InputsInvalid(
            f"public_inputs[{place}] is SHA-256 of {context!r} modulo the order of the group.",
            field=f"public_inputs[{place}]",
        )


def require_canonical_inputs(public_inputs: tuple[str, ...]) -> None:
    """Each input is a canonical decimal below the order of the group. Raises: InputsInvalid."""
    for place, text in enumerate(public_inputs):
        if not is_canonical(text, GROUP_ORDER):
            raise InputsInvalid(
                f"public_inputs[{place}] is a decimal without leading zeros below the order of the group.",
                field=f"public_inputs[{place}]",
            )


def require_canonical_points(document: Mapping[str, Any], refusal: type[Invalid], member: str) -> None:
    """Each coordinate of each point is a canonical decimal below the order of the field. Raises: `refusal`."""
    for name, points in document.items():
        if not all(is_canonical(text, FIELD_ORDER) for text in _decimals_of(points)):
            raise refusal(
                f"{member}.{name} has a coordinate that is no decimal without leading zeros below the order of the field.",
                field=f"{member}.{name}",
            )


def is_canonical(text: str, order: int) -> bool:
    """Return whether the text is the one decimal form of a number below `order`."""
    return bool(_DECIMAL.fullmatch(text)) and int(text) < order


def _decimals_of(points: Any) -> Iterator[str]:
    if isinstance(points, str):
        yield points
    elif isinstance(points, list):
        for one in points:
            yield from _decimals_of(one)

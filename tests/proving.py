"""Proofs in the JSON of snarkjs for any public inputs, made with the secrets of a setup of our own.

A registry with the verification key accepts them like those of a prover that knows a witness. Proofs of snarkjs itself
are in tests/vectors/groth16.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from hansa.rooms.proofs.groth16 import bn

GROUP_ORDER = bn.curve_order
FIELD_ORDER = bn.field_modulus
VECTORS = Path(__file__).parent / "vectors" / "groth16"


def signal(text: str) -> str:
    """The public input that names a DID or a subject."""
    return str(int(sha256(text.encode()).hexdigest(), 16) % GROUP_ORDER)


@cache
def vectors(circuit: str) -> dict[str, Any]:
    """The keys and proofs of a circuit that snarkjs made."""
    read: dict[str, Any] = json.loads((VECTORS / f"{circuit}.json").read_text())
    return read


def g1(point: Any) -> list[str]:
    x, y = bn.normalize(point)
    return [str(int(x)), str(int(y)), "1"]


def g2(point: Any) -> list[list[str]]:
    x, y = bn.normalize(point)
    return [[str(int(one)) for one in x.coeffs], [str(int(one)) for one in y.coeffs], ["1", "0"]]


def point_1(coordinates: Sequence[str]) -> Any:
    x, y, _ = coordinates
    return bn.FQ(int(x)), bn.FQ(int(y)), bn.FQ.one()


def point_2(coordinates: Sequence[Sequence[str]]) -> Any:
    x, y, _ = coordinates
    return bn.FQ2([int(one) for one in x]), bn.FQ2([int(one) for one in y]), bn.FQ2.one()


@dataclass(frozen=True)
class Setup:
    """The secrets of a setup with `inputs` public inputs, the same for the same seed."""

    seed: int
    inputs: int

    @property
    def _secrets(self) -> dict[str, Any]:
        drawn = Random(self.seed)
        names = ("alpha", "beta", "gamma", "delta")
        secrets: dict[str, Any] = {name: drawn.randrange(2, GROUP_ORDER) for name in names}
        return secrets | {"ic": [drawn.randrange(2, GROUP_ORDER) for _ in range(self.inputs + 1)]}

    @property
    def key(self) -> dict[str, Any]:
        """The verification key, as snarkjs exports it."""
        return _key(self.seed, self.inputs)

    def prove(self, public_inputs: Sequence[str], *, seed: int = 1) -> dict[str, Any]:
        """A proof of these inputs; another seed gives another proof of the same."""
        secrets, drawn = self._secrets, Random(f"{self.seed} {seed} {list(public_inputs)}")
        a, b = (drawn.randrange(2, GROUP_ORDER) for _ in range(2))
        signals = secrets["ic"][0] + sum(
            factor * int(value) for factor, value in zip(secrets["ic"][1:], public_inputs, strict=True)
        )
        left = a * b - secrets["alpha"] * secrets["beta"] - signals * secrets["gamma"]
        c = left * pow(secrets["delta"], -1, GROUP_ORDER) % GROUP_ORDER
        return {
            "pi_a": g1(bn.multiply(bn.G1, a)),
            "pi_b": g2(bn.multiply(bn.G2, b)),
            "pi_c": g1(bn.multiply(bn.G1, c)),
            "protocol": "groth16",
            "curve": "bn128",
        }


@cache
def _key(seed: int, inputs: int) -> dict[str, Any]:
    secrets = Setup(seed, inputs)._secrets
    seconds = {f"vk_{name}_2": g2(bn.multiply(bn.G2, secrets[name])) for name in ("beta", "gamma", "delta")}
    return {
        "protocol": "groth16",
        "curve": "bn128",
        "nPublic": inputs,
        "vk_alpha_1": g1(bn.multiply(bn.G1, secrets["alpha"])),
        **seconds,
        "IC": [g1(bn.multiply(bn.G1, one)) for one in secrets["ic"]],
    }


def again(key: dict[str, Any], proof: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Other proofs of the same inputs that anybody makes of one, without a witness."""
    a, b, c = point_1(proof["pi_a"]), point_2(proof["pi_b"]), point_1(proof["pi_c"])
    factor = 1234567890123456789
    inverse = pow(factor, -1, GROUP_ORDER)
    delta = point_2(key["vk_delta_2"])
    return {
        "negated": {**proof, "pi_a": g1(bn.neg(a)), "pi_b": g2(bn.neg(b))},
        "scaled": {**proof, "pi_a": g1(bn.multiply(a, factor)), "pi_b": g2(bn.multiply(b, inverse))},
        "shifted": {
            **proof,
            "pi_b": g2(bn.add(b, bn.multiply(delta, factor))),
            "pi_c": g1(bn.add(c, bn.multiply(a, factor))),
        },
    }


@cache
def outside_subgroup() -> list[list[str]]:
    """A point on the curve of the second group that is not of the subgroup."""
    for x0 in range(1, 1000):
        x = bn.FQ2([x0, 1])
        y = _complex_root(x * x * x + bn.b2)
        if y is not None and not bn.is_inf(bn.multiply((x, y, bn.FQ2.one()), bn.curve_order)):
            return g2((x, y, bn.FQ2.one()))
    raise AssertionError("most points of the curve are outside the subgroup")


def _complex_root(value: Any) -> Any:
    """A square root in the extension of the field, or None."""
    a, b = (int(one) for one in value.coeffs)
    norm = _field_root((a * a + b * b) % FIELD_ORDER)
    if norm is None:
        return None
    half = pow(2, -1, FIELD_ORDER)
    for sign in (norm, -norm):
        real = _field_root((a + sign) * half % FIELD_ORDER)
        if real:
            return bn.FQ2([real, b * half * pow(real, -1, FIELD_ORDER) % FIELD_ORDER])
    return None


def _field_root(value: int) -> int | None:
    root = pow(value, (FIELD_ORDER + 1) // 4, FIELD_ORDER)
    return root if root * root % FIELD_ORDER == value % FIELD_ORDER else None

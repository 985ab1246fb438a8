"""Verify Groth16 proofs over BN254 in a process of their own: one task as JSON on standard input, one answer on standard output.

- Imports the standard library and py_ecc alone, because it is run as a file (`worker.py`): the service is not loaded again.
- Every point is on its curve, in the subgroup of the order of the group, and none is the point at infinity.
- A point of the second group is multiplied by the order of the group: its curve has other points (small subgroups).
- Coordinates and inputs are decimals that the caller has checked to be canonical.
"""

import json
import resource
import sys
from collections.abc import Mapping, Sequence
from typing import Any

_RECURSION_LIMIT = sys.getrecursionlimit()
from py_ecc import optimized_bn128 as bn  # noqa: E402

# The library raises the limit for the whole process, where deeply nested JSON would then end it.
sys.setrecursionlimit(_RECURSION_LIMIT)

MEMORY_MAX_BYTES = 1 << 30
CPU_MAX_SECONDS = 30
_G1_OF_KEY, _G2_OF_KEY = ("vk_alpha_1",), ("vk_beta_2", "vk_gamma_2", "vk_delta_2")


class Unusable(Exception):
    """A point or a key that is refused; the message names it."""


def refusal_of(task: Mapping[str, Any]) -> str | None:
    """The reason for which a task is refused, None where it holds: a `key` alone, or a `proof` of its `inputs`."""
    try:
        if "proof" not in task:
            _Key(task["key"]).require_contributed()
            return None
        # Points of the proof come first: most bad proofs end here, before any costly step.
        proof = _Proof(task["proof"])
        is_proved = _Key(task["key"]).proves(proof, task["inputs"])
    except Unusable as unusable:
        return str(unusable)
    return None if is_proved else "the equation of the proof does not hold"


class _Proof:
    def __init__(self, proof: Mapping[str, Any]) -> None:
        self.a, self.c = (g1_point(proof[name], name) for name in ("pi_a", "pi_c"))
        self.b = g2_point(proof["pi_b"], "pi_b")


class _Key:
    def __init__(self, key: Mapping[str, Any]) -> None:
        (self.alpha,) = (g1_point(key[name], name) for name in _G1_OF_KEY)
        self.beta, self.gamma, self.delta = (g2_point(key[name], name) for name in _G2_OF_KEY)
        self.inputs = [g1_point(point, f"IC[{place}]") for place, point in enumerate(key["IC"])]

    def require_contributed(self) -> None:
        """A setup without a contribution leaves delta equal to gamma, and then anybody can make proofs of anything."""
        if bn.eq(self.gamma, self.delta):
            raise Unusable(
                "vk_delta_2 equals vk_gamma_2: the setup had no contribution, and anybody can forge proofs"
            )

    def proves(self, proof: _Proof, inputs: Sequence[str]) -> bool:
        """Return whether e(A, B) = e(alpha, beta) e(inputs, gamma) e(C, delta)."""
        signals = self.inputs[0]
        for point, value in zip(self.inputs[1:], inputs, strict=True):
            signals = bn.add(signals, bn.multiply(point, int(value)))
        product = bn.pairing(proof.b, bn.neg(proof.a), final_exponentiate=False)
        for second, first in ((self.beta, self.alpha), (self.gamma, signals), (self.delta, proof.c)):
            product *= bn.pairing(second, first, final_exponentiate=False)
        return bool(bn.final_exponentiate(product) == bn.FQ12.one())


def g1_point(coordinates: Sequence[str], name: str) -> Any:
    """The point, which is on the curve: every such point is of the group. Raises: Unusable."""
    x, y, z = coordinates
    if z != "1":
        raise Unusable(f"{name} is not an affine point")
    point = (bn.FQ(int(x)), bn.FQ(int(y)), bn.FQ.one())
    if not bn.is_on_curve(point, bn.b):
        raise Unusable(f"{name} is not on the curve")
    return point


def g2_point(coordinates: Sequence[Sequence[str]], name: str) -> Any:
    """The point, which is on the curve and in the subgroup. Raises: Unusable."""
    x, y, z = coordinates
    if tuple(z) != ("1", "0"):
        raise Unusable(f"{name} is not an affine point")
    point = (bn.FQ2([int(one) for one in x]), bn.FQ2([int(one) for one in y]), bn.FQ2.one())
    if not bn.is_on_curve(point, bn.b2):
        raise Unusable(f"{name} is not on the curve")
    if not bn.is_inf(bn.multiply(point, bn.curve_order)):
        raise Unusable(f"{name} is not in the subgroup")
    return point


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_MAX_SECONDS, CPU_MAX_SECONDS))
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX_BYTES, MEMORY_MAX_BYTES))
    json.dump({"refusal": refusal_of(json.load(sys.stdin))}, sys.stdout)

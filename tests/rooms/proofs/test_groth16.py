"""Proofs that snarkjs made are accepted; altered ones, and keys that are unsafe, are refused."""

from copy import deepcopy
from random import Random
from typing import Any

import pytest

from hansa.foundation.values.errors import Invalid
from hansa.rooms.proofs import groth16
from hansa.rooms.proofs.errors import ProofInvalid
from hansa.rooms.proofs.groth16 import bn
from hansa.rooms.proofs.registering import points_of
from hansa.rooms.proofs.rules import (
    FIELD_ORDER,
    GROUP_ORDER,
    is_canonical,
    require_canonical_inputs,
    require_canonical_points,
    signal_of,
)
from tests import proving
from tests.properties.scale import by_tier, printed_seed

ALTERED = by_tier(60, 600, 10_000)
CIRCUITS = ("bound", "member")


def refusal_of(key: dict[str, Any], proof: dict[str, Any], inputs: list[str]) -> str | None:
    """The reason of a refusal, by all checks of a submission in their order."""
    try:
        require_canonical_inputs(tuple(inputs))
        require_canonical_points(points_of(proof), ProofInvalid, "proof_data")
    except Invalid as refused:
        return refused.detail
    return groth16.refusal_of({"key": key, "proof": proof, "inputs": inputs})


@pytest.mark.parametrize("circuit", CIRCUITS)
def test_proofs_of_snarkjs_hold_for_their_inputs_alone(circuit: str) -> None:
    made = proving.vectors(circuit)
    key, (first, second, *_) = made["verification_key"], made["proofs"]
    assert groth16.refusal_of({"key": key}) is None
    for one in (first, second):
        assert refusal_of(key, one["proof"], one["public_inputs"]) is None
    assert refusal_of(key, first["proof"], second["public_inputs"]) is not None


@pytest.mark.parametrize("circuit", CIRCUITS)
def test_the_inputs_of_snarkjs_name_holder_and_subject_as_the_registry_does(circuit: str) -> None:
    for one in proving.vectors(circuit)["proofs"]:
        assert signal_of(one["holder"]) in one["public_inputs"]
        assert "subject" not in one or one["public_inputs"][1] == signal_of(one["subject"])


def test_other_proofs_that_anybody_makes_of_one_hold_as_well() -> None:
    made = proving.vectors("bound")
    key, one = made["verification_key"], made["proofs"][0]
    for kind, proof in proving.again(key, one["proof"]).items():
        assert proof != one["proof"]
        assert refusal_of(key, proof, one["public_inputs"]) is None, kind


def test_points_outside_the_subgroup_off_the_curve_and_at_infinity_are_refused() -> None:
    made = proving.vectors("member")
    key, one = made["verification_key"], made["proofs"][0]
    outside, infinite = proving.outside_subgroup(), ["0", "1", "0"]
    assert bn.is_on_curve(proving.point_2(outside), bn.b2)
    cases = {
        "pi_b is not in the subgroup": {"pi_b": outside},
        "pi_a is not an affine point": {"pi_a": infinite},
        "pi_c is not an affine point": {"pi_c": infinite},
        "pi_b is not an affine point": {"pi_b": [["0", "0"], ["1", "0"], ["0", "0"]]},
        "pi_a is not on the curve": {"pi_a": ["0", "0", "1"]},
        "pi_c is not on the curve": {"pi_c": [one["proof"]["pi_c"][1], one["proof"]["pi_c"][0], "1"]},
        "pi_b is not on the curve": {"pi_b": [["0", "0"], ["0", "0"], ["1", "0"]]},
    }
    for said, changed in cases.items():
        assert refusal_of(key, {**one["proof"], **changed}, one["public_inputs"]) == said


@pytest.mark.parametrize("member", ["vk_beta_2", "vk_gamma_2", "vk_delta_2", "vk_alpha_1", "IC"])
def test_a_key_with_a_point_that_is_not_of_its_group_is_refused(member: str) -> None:
    key = deepcopy(proving.vectors("member")["verification_key"])
    if member.endswith("_2"):
        key[member] = proving.outside_subgroup()
        assert groth16.refusal_of({"key": key}) == f"{member} is not in the subgroup"
    else:
        point = key[member][1] if member == "IC" else key[member]
        point[0] = "1"
        assert "is not on the curve" in str(groth16.refusal_of({"key": key}))


def test_a_key_whose_setup_had_no_contribution_is_refused_as_proofs_of_it_are_forged() -> None:
    key = proving.vectors("member")["uncontributed_key"]
    assert "no contribution" in str(groth16.refusal_of({"key": key}))
    # With delta = gamma the inputs cancel: A = alpha, B = beta, C = - inputs.
    inputs = [signal_of("anything"), "12345"]
    signals = proving.point_1(key["IC"][0])
    for point, value in zip(key["IC"][1:], inputs, strict=True):
        signals = bn.add(signals, bn.multiply(proving.point_1(point), int(value)))
    forged = {
        "pi_a": key["vk_alpha_1"],
        "pi_b": key["vk_beta_2"],
        "pi_c": proving.g1(bn.neg(signals)),
        "protocol": "groth16",
        "curve": "bn128",
    }
    assert refusal_of(key, forged, inputs) is None


@pytest.mark.parametrize(
    "text", ["", "-1", "+1", "01", "0x1", "1.0", "1e3", " 1", "1 ", "1\n", "١", str(GROUP_ORDER), "9" * 78]
)
def test_an_input_has_one_form(text: str) -> None:
    assert not is_canonical(text, GROUP_ORDER)
    assert is_canonical(str(GROUP_ORDER - 1), GROUP_ORDER)
    assert is_canonical("0", GROUP_ORDER)


def test_altered_proofs_are_refused_and_none_is_accepted() -> None:
    drawn = Random(f"groth16 {printed_seed()}")
    for number in range(ALTERED):
        circuit = drawn.choice(CIRCUITS)
        made = proving.vectors(circuit)
        one = drawn.choice(made["proofs"])
        proof, inputs = deepcopy(one["proof"]), list(one["public_inputs"])
        how = altered(drawn, made, proof, inputs)
        assert (proof, inputs) != (one["proof"], one["public_inputs"])
        assert refusal_of(made["verification_key"], proof, inputs) is not None, f"{number}: {circuit}, {how}"


def altered(drawn: Random, made: dict[str, Any], proof: dict[str, Any], inputs: list[str]) -> str:
    """Alter a proof or its inputs in place. One in twenty keeps every point in its group, so that the equation alone refuses it."""
    if drawn.random() < 0.05:
        return in_its_group(drawn, made, proof, inputs)
    coordinates = [
        *((proof[name], place) for name in ("pi_a", "pi_c") for place in range(3)),
        *((proof["pi_b"][place], half) for place in range(3) for half in range(2)),
        *((inputs, place) for place in range(len(inputs)) if drawn.random() < 0.1),
    ]
    numbers, place = drawn.choice(coordinates)
    value, is_input = int(numbers[place]), numbers is inputs
    order = GROUP_ORDER if is_input else FIELD_ORDER
    how = drawn.choice(["bit", "other", "unreduced", "padded", "signed", "zero"])
    changed = {
        "bit": str((value ^ (1 << drawn.randrange(254))) % order),
        "other": str(drawn.randrange(order)),
        "unreduced": str(value + order),
        "padded": f"0{value}",
        "signed": f"+{value}",
        "zero": "2" if value == 0 else "0",
    }[how]
    numbers[place] = changed if changed != str(value) else str((value + 1) % order)
    return how


def in_its_group(drawn: Random, made: dict[str, Any], proof: dict[str, Any], inputs: list[str]) -> str:
    how = drawn.choice(["negated", "swapped", "of another", "input", "scaled"])
    name = drawn.choice(["pi_a", "pi_b", "pi_c"])
    others = [one for one in made["proofs"] if one["proof"][name] != proof[name]]
    if how == "input":
        place = drawn.randrange(len(inputs))
        inputs[place] = str((int(inputs[place]) + drawn.randrange(1, GROUP_ORDER)) % GROUP_ORDER)
    elif how == "swapped":
        proof["pi_a"], proof["pi_c"] = proof["pi_c"], proof["pi_a"]
    elif how == "of another":
        proof[name] = drawn.choice(others)["proof"][name]
    else:
        factor = -1 % GROUP_ORDER if how == "negated" else drawn.randrange(2, GROUP_ORDER)
        read, write = (proving.point_2, proving.g2) if name == "pi_b" else (proving.point_1, proving.g1)
        proof[name] = write(bn.multiply(read(proof[name]), factor))
    return how

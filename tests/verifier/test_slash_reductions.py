"""Reductions of a slash as the specification has them, computed from a bundle by anybody."""

from decimal import Decimal

from hansa_verify import Reduction, reduction_of, states_reduction
from tests.verifier.slash_reductions import drawn_bundles

SEED = 20_261_201


def test_a_bundle_that_states_another_reduction_than_its_facts_give_is_found_out() -> None:
    shares = set()
    for number, bundle in enumerate(drawn_bundles(SEED, 300)):
        reduction = reduction_of(bundle)
        assert reduction is not None
        shares.add(reduction.share)
        assert states_reduction(bundle, reduction) == (number % 3 != 2), number
    assert max(shares) == Decimal("0.5")
    assert len(shares) > 5


def test_a_reduction_is_rounded_half_to_even() -> None:
    for slash, cut in (("0.00000001", "0"), ("0.00000003", "0.00000002"), ("0.00000005", "0.00000002")):
        assert Reduction(Decimal("0.5"), ()).of(Decimal(slash)) == Decimal(cut)


def test_a_bundle_of_earlier_rules_or_without_citations_states_no_reduction() -> None:
    (bundle,) = drawn_bundles(SEED, 1)
    assert reduction_of({**bundle, "rules": 2}) is None
    assert reduction_of({**bundle, "slash": None}) is None

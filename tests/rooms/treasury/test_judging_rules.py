"""Tighter rules demand as much or more for every payment; approvals meet demands of those who hold the right alone."""

from random import Random

from hansa.foundation.values.money import Minor
from hansa.rooms.organizations import Demand, Role, Tier
from hansa.rooms.organizations.approvals.rules import Approver, tally
from hansa.rooms.treasury.judging import demands_of, is_tighter
from hansa.rooms.treasury.records import Limits, Rules
from tests.properties.scale import by_tier, printed_seed

PAIRS = by_tier(20_000, 200_000, 1_000_000)
APPROVERS = ("admin", "owner", "9e01d6c1-f7d1-43ab-9bd1-5c1d7b9d0f5d")
AMOUNTS = [Minor(one) for one in range(1, 8)]


def random_rules(random: Random) -> Rules:
    above = sorted(random.sample(range(6), random.randint(0, 3)))
    tiers = []
    for one in above:
        approvers = random.choice(APPROVERS)
        tiers.append(Tier(Minor(one), Demand(random.randint(1, 3), approvers), approvers))
    limits = Limits(
        random.choice([None, Minor(3), Minor(9)]),
        random.choice([None, Minor(2), Minor(4)]) if tiers else None,
        random.choice([None, ("a",), ("a", "b")]),
    )
    return Rules(tuple(tiers), limits)


def is_covered(new: tuple[Demand, ...], old: tuple[Demand, ...]) -> bool:
    """Approvals that meet the new demands meet the old ones as well."""
    return all(
        any(
            one.approvals >= demand.approvals
            and (one.approvers == demand.approvers or (one.approvers, demand.approvers) == ("owner", "admin"))
            for one in new
        )
        for demand in old
    )


def test_tighter_rules_demand_no_less_for_any_payment():
    random, tighter = Random(printed_seed()), 0
    for _ in range(PAIRS):
        old, new = random_rules(random), random_rules(random)
        if not is_tighter(new, old):
            continue
        tighter += 1
        for amount in AMOUNTS:
            for before in (0, 1, 3, 5):
                asked_before = demands_of(old, amount, Minor(before))
                asked_now = demands_of(new, amount, Minor(before))
                assert is_covered(asked_now, asked_before), (old, new, amount, before)
    assert tighter > 100


def test_rules_are_as_tight_as_themselves():
    random = Random(printed_seed())
    for _ in range(1000):
        rules = random_rules(random)
        assert is_tighter(rules, rules)


def test_approvals_of_others_who_hold_the_right_are_counted():
    owner, admin, initiator = (
        Approver(number, role) for number, role in ((1, Role.OWNER), (2, Role.ADMIN), (3, Role.OWNER))
    )
    demand = Demand(2, "admin")

    def judged(approved, *, may_delay=True):
        found = tally([demand], [owner, admin, initiator], approved, [3, None], may_delay=may_delay)
        return found.is_met, found.is_delayed

    assert judged([]) == (False, False)
    assert judged([1]) == (False, False)
    assert judged([1, 3]) == (False, False)
    assert judged([1, 2]) == (True, False)
    found = tally([Demand(3, "admin")], [owner, admin, initiator], [1, 2], [3], may_delay=True)
    assert (found.is_met, found.is_delayed, found.needed, found.eligible) == (
        False,
        True,
        3,
        frozenset({1, 2}),
    )
    assert not tally([Demand(3, "admin")], [owner, admin], [1, 2], [3], may_delay=False).is_delayed


def test_of_two_demands_each_must_be_met():
    owner, admin = Approver(1, Role.OWNER), Approver(2, Role.ADMIN)
    both = [Demand(1, "owner"), Demand(2, "admin")]
    assert not tally(both, [owner, admin, Approver(4, Role.ADMIN)], [2, 4], [3], may_delay=True).is_met
    assert tally(both, [owner, admin], [1, 2], [3], may_delay=True).is_met

"""Allocation of the points of a launch: a pure function.

Where more is subscribed than there is, each subscription gets its share rounded down; the points that remain go to the largest
remainders, one each, of equal ones to the earlier subscription. Nobody gets more than was subscribed, and all points are given.
"""

from collections.abc import Sequence


def allocated(total: int, quantities: Sequence[int]) -> list[int]:
    """The points of each subscription; `quantities` are greater than zero, in the order of the subscriptions."""
    subscribed = sum(quantities)
    if subscribed <= total:
        return list(quantities)
    parts = [divmod(total * quantity, subscribed) for quantity in quantities]
    left = total - sum(whole for whole, _ in parts)
    first = sorted(range(len(parts)), key=lambda place: -parts[place][1])[:left]
    points = [whole for whole, _ in parts]
    for place in first:
        points[place] += 1
    return points

"""Normalised discounted cumulative gain: how near a ranking comes to the best one that was possible."""

import math
from collections.abc import Mapping, Sequence


def ndcg(ranking: Sequence[str], judgments: Mapping[str, int], depth: int = 10) -> float:
    """From 0 to 1 over the first `depth` results; a result named twice earns once."""
    distinct = list(dict.fromkeys(ranking))
    best = _gain(sorted(judgments.values(), reverse=True)[:depth])
    return _gain([judgments.get(card, 0) for card in distinct[:depth]]) / best if best else 0.0


def _gain(grades: Sequence[int]) -> float:
    return sum((2**grade - 1) / math.log2(place + 1) for place, grade in enumerate(grades, 1))

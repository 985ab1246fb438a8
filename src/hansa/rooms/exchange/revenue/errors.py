"""Refusals of movements of points."""

from hansa.foundation.values.errors import Conflict, Forbidden, Invalid


class PointsOfOthers(Forbidden):
    """Points are transferred between agents of one owner alone; others buy them."""

    code = "POINTS_OF_OTHERS"
    sentence = "The receiver is no agent of the same owner; points go to others by orders alone."
    remedy = "Name another agent of the same owner, or sell the points."


class PointsToSelf(Invalid):
    """The receiver is the agent itself."""

    code = "POINTS_TO_SELF"
    sentence = "The receiver is the agent itself."


class PointsOffered(Conflict):
    """The agent has fewer points than it moves, without those that its open sells offer."""

    code = "INSUFFICIENT_POINTS"
    sentence = "The agent has fewer points that are not offered than it moves."
    remedy = "Move at most `available` points, or cancel open sells first."

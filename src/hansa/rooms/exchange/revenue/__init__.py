"""Revenue: what organizations earn is levied each day by the share of their points, and distributed to the holders of the points."""

from hansa.rooms.exchange.revenue.counting import COUNT_REVENUE
from hansa.rooms.exchange.revenue.levying import LEVY_REVENUE, LEVY_WHEN_DUE
from hansa.rooms.exchange.revenue.paying import PAY_DISTRIBUTIONS
from hansa.rooms.exchange.revenue.records import LeviedDay
from hansa.rooms.exchange.revenue.routes import router
from hansa.rooms.exchange.revenue.schemas import ExchangeInvariantOut, ListingSolvencyOut
from hansa.rooms.exchange.revenue.solvency import solvency_of_listings, verdict_on
from hansa.rooms.exchange.revenue.store import arrears_of, levied_of, newest_levies

__all__ = [
    "COUNT_REVENUE",
    "LEVY_REVENUE",
    "LEVY_WHEN_DUE",
    "PAY_DISTRIBUTIONS",
    "ExchangeInvariantOut",
    "LeviedDay",
    "ListingSolvencyOut",
    "arrears_of",
    "levied_of",
    "newest_levies",
    "router",
    "solvency_of_listings",
    "verdict_on",
]

"""Refusals of swaps, quotes and the administration of pools."""

from hansa.foundation.values.errors import Conflict, Invalid, NotFound, Refused

from .pricing import SwapCode


class PoolUnknown(NotFound):
    """There is no pool for this currency or receiver."""

    code = "POOL_UNKNOWN"
    sentence = "This registry has no pool for that currency."
    remedy = "GET /api/v1/teg/fx/rates lists the currencies that can be swapped."


class CurrencyAmbiguous(Conflict):
    """Several peers have this currency."""

    code = "CURRENCY_AMBIGUOUS"
    sentence = "Several peers have this currency; name one with ?peer=."
    remedy = "Send the registry name, trust domain or ledger id of the peer as `peer`."


class PoolExists(Conflict):
    """The two registries share a pool already."""

    code = "POOL_EXISTS"
    sentence = "The two registries share a pool already; it has one home, which prices both directions."


class PoolCurrencyDiffers(Invalid):
    """The currency is not that of the peer, or it is the own one."""

    code = "POOL_CURRENCY_DIFFERS"
    sentence = (
        "A pool needs the settlement currency of the peer, which must differ from that of this registry."
    )


class ProposalDiffers(Conflict):
    """The first funding is not what the home of the pool proposed."""

    code = "POOL_PROPOSAL_DIFFERS"
    sentence = "The home of the pool proposed another reserve; the first funding must be equal to it."


class ReserveTooSmall(Conflict):
    """The pool would open with less than the reserve floor, or a drain leave less, or less than what pending swaps need."""

    code = "POOL_RESERVE_TOO_SMALL"
    sentence = "The reserve would be below its floor, or below what pending swaps may take."


class FixedRatesOff(Conflict):
    """The home prices by the pool, or the home is the other registry."""

    code = "FIXED_RATES_OFF"
    sentence = "A rate is set at the home of the pool, with FX_RATE_MODE=fixed."


class QuoteUnknown(NotFound):
    """The agent has no such quote."""

    code = "QUOTE_UNKNOWN"
    sentence = "There is no such quote of this agent."


class QuoteEnded(Conflict):
    """The quote is spent or expired."""

    code = "QUOTE_ENDED"
    sentence = "The quote is spent or expired."
    remedy = "Request another one with POST /api/v1/teg/fx/quote."


class QuoteDiffers(Invalid):
    """The transfer is not the one that was quoted."""

    code = "QUOTE_DIFFERS"
    sentence = (
        "The amount must be the amount_in of the quote, and the receiver must be at the quoted registry."
    )


class NotASwap(Invalid):
    """Sender and receiver have the same currency."""

    code = "NOT_A_SWAP"
    sentence = (
        "min_amount_out and quote_id are for receivers whose registry has another currency; leave them out."
    )


class PoolWithoutPrice(Conflict):
    """One of the reserves is empty."""

    code = SwapCode.POOL_EMPTY.value
    sentence = "The pool has no reserve to pay this from."
    remedy = "Wait until both registries have funded it."


class PoolBusy(Conflict):
    """A pool with pending swaps is not closed."""

    code = "POOL_BUSY"
    sentence = "Swaps of the pool are pending; nothing was changed."
    remedy = "Retry when they are decided, at the latest in five minutes."


class RateMissing(Conflict):
    """Fixed mode without a rate."""

    code = SwapCode.RATE_MISSING.value
    sentence = "The home of the pool has set no rate for this currency."


class SwapTooSmall(Invalid):
    """Nothing would be received."""

    code = SwapCode.TOO_SMALL.value
    sentence = "The amount is too small: nothing would be received for it."


class ReserveFloorReached(Conflict):
    """The output would leave less than the floor."""

    code = SwapCode.RESERVE_FLOOR.value
    sentence = "The swap would leave less than the reserve floor of the pool."
    remedy = "Send a smaller amount."


class SizeCapExceeded(Invalid):
    """The swap, with what is pending, is above the cap."""

    code = SwapCode.SIZE_CAP.value
    sentence = "The swap, together with those pending, is larger than the size cap of the pool."
    remedy = "Send a smaller amount, or retry when pending swaps are decided."


class BreakerOpen(Conflict):
    """The price would move too far within an hour."""

    code = SwapCode.BREAKER_OPEN.value
    sentence = "The swap would move the price further within an hour than breaker_pct allows."
    remedy = "Send a smaller amount, or retry after the time in breaker.open_until."


class BelowMinimum(Conflict):
    """The price moved: the receiver would get less than min_amount_out, or than was quoted."""

    code = SwapCode.BELOW_MINIMUM.value
    sentence = "The receiver would get less than min_amount_out; nothing was moved."
    remedy = "Request a new quote, or send a lower min_amount_out."


class PoolDiffers(Conflict):
    """The two registries do not agree on the pool."""

    code = SwapCode.HOME_DIFFERS.value
    sentence = "The two registries do not agree on the state of their pool; nothing was moved."
    remedy = "Retry after a few seconds."


SWAP_REFUSALS: tuple[type[Refused], ...] = (
    BelowMinimum,
    BreakerOpen,
    PoolDiffers,
    PoolWithoutPrice,
    RateMissing,
    ReserveFloorReached,
    SizeCapExceeded,
    SwapTooSmall,
)
QUOTE_REFUSALS: tuple[type[Refused], ...] = (NotASwap, QuoteDiffers, QuoteEnded, QuoteUnknown)

_OF_THE_OTHER_SIDE: tuple[type[Refused], ...] = (*SWAP_REFUSALS, PoolUnknown)
REFUSAL_OF: dict[str, type[Refused]] = {kind.code: kind for kind in _OF_THE_OTHER_SIDE}

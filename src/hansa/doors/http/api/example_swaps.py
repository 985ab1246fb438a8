"""The values in the examples of pools, rates and quotes."""

from typing import Any

SWAPS: dict[str, Any] = {
    "from": "AVT",
    "to": "BOB",
    "to_currency": "BOB",
    "rate": "1.970297029",
    "fee_pct": "0.5",
    "SwapQuoteOut.fee": "0.0990099",
    "amount_in": "10",
    "amount_out": "19.70297029",
    "min_amount_out": "19.7",
    "price_impact": "0.990099",
    "slippage_max": "2",
    "reserve_own": "1000",
    "reserve_foreign": "2000",
    "reserve_from": "1000",
    "reserve_to": "2000",
    "reserve_floor": "0.01",
    "size_cap": "1000",
    "k": "2000000",
    "BreakerOut.pct": "20",
    "PoolOut.home": "hansa.local",
    "PoolOut.peer": "peer.example.org",
    "PoolOut.proposed": "2000",
    "PoolIn.peer": "peer.example.org",
    "PoolActIn.asked": "2000",
}

"""Acts between registries of one network beyond transfers, in the examples of the OpenAPI document."""

from typing import Any

from hansa.doors.http.api.example_bodies import DID, LICENCE_JWS

WRAPPED = {
    "wrapped_currency": "AVT.peer.example.org",
    "wrapped": "120.5",
    "burning": "0",
    "locked_proved": "120.5",
    "delta": "0",
    "status": "OK",
}

FORK = {
    "origin": "peer.example.org/log",
    "kind": "same_size",
    "found_at": "2026-01-02T03:04:05+00:00",
    "copies": [
        {"witness": "hansa.local", "checkpoint": "peer.example.org/log\n8\n…\n\n— peer.example.org/log …\n"},
        {
            "witness": "third.example",
            "checkpoint": "peer.example.org/log\n8\n…\n\n— peer.example.org/log …\n",
        },
    ],
}

BRIDGES: dict[str, Any] = {
    "LogForkOut": FORK,
    "ForkCopyOut": FORK["copies"][0],
    "SlashMessagesIn.messages": [LICENCE_JWS],
    "SlashMessagesOut.messages": [LICENCE_JWS],
    "SettlementOut.reason": None,
    "SettlementOut.slashed_amount": "12.5",
    "SettlementOut.compensated_amount": "10",
    "SettlementReasonIn.reason": "The work was delivered as agreed.",
    "peer_id": "peer",
    "BridgeMessagesIn.messages": [LICENCE_JWS],
    "BridgeMessagesOut.messages": [LICENCE_JWS],
    "BridgeStatusOut.reason": None,
    "BridgeStatusOut.sender_did": DID,
    "BridgeStatusOut.wrapped_currency": "AVT.hansa.local",
    "BridgeStatusOut.source": "hansa.local",
    "BridgeStatusOut.destination": "peer.example.org",
    "LockedUnits.locked": "30",
    "WrappedUnits": WRAPPED,
}

"""Faces and states: the avatar and the short form of a DID, an agent or account with both, and the chip of a state.

Pages show the same agents again and again: their markup, which follows from the DID alone, is kept for those that were shown last.
"""

import colorsys
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from markupsafe import Markup, escape

from hansa.doors.console.owner_text import theirs
from hansa.foundation.values.visible_text import apart

DID_END_CHARACTERS = 4
# Each takes about a kilobyte, twelve for the longest DID.
KEPT_MAX = 2000
HULL = "M3 16h18c-.6 3-2.6 4.6-5.2 4.6H8.2c-2.6 0-4.6-1.6-5.2-4.6z"
SAILS = (
    "M7 4h10c-1.3 3.3-1.3 6.7 0 10H7c1.3-3.3 1.3-6.7 0-10z",
    "M12 3l7 11h-7z",
    "M12 3v11H5z",
    "M11 3v11H5zM13 6l5.5 8H13z",
    "M6 4h12v4H6zM7.5 9.5h9V14h-9z",
    "M12 3c5 2 6.5 6.5 5 11H7c-1.5-4.5 0-9 5-11z",
    "M5 5h6v9H5zM13 5h6v9h-6z",
    "M12 3l6 5.5-6 5.5-6-5.5z",
)
# Kind of the chip of each state; a state that is missing here is shown as frozen, without a claim.
STATES: Mapping[str, tuple[str, ...]] = {
    "waiting": (
        "pending", "proposed", "open", "submitted", "queued", "waiting", "locked", "prepared", "under_review",
        "changes_requested", "requested", "not_checked", "disputed", "appealed", "voting", "paused",
        "review", "halted", "launching", "partially_filled", "subscribed",
        "waiting_for_user", "maturing", "releasing", "ending", "waiting_approval", "waiting_funds", "unknown", "awaiting",
    ),
    "active": (
        "active", "accepted", "authorized", "running", "processing", "settling", "listed", "alive", "reserved", "live",
        "executing", "awarded", "consumed", "trading",
    ),
    "done": (
        "completed", "settled", "approved", "paid", "closed", "used", "confirmed", "delivered", "resolved", "ruled",
        "committed", "captured", "verified", "on", "executed", "won", "released", "ended", "succeeded",
        "passed", "applied", "filled", "allocated",
    ),
    "failed": (
        "revoked", "rejected", "denied", "failed", "expired", "cancelled", "breached", "unreachable", "slashed",
        "dead", "aborted", "refused", "lost", "quarantined", "superseded", "budget_exceeded",
        "declined", "vetoed", "lapsed", "stale", "delisted",
    ),
}  # fmt: skip
_KIND_OF = {state: kind for kind, states in STATES.items() for state in states}


def avatar(did: Any, *, large: bool = False) -> Markup:
    """Ship made from the digest of a DID: colour of the background, colour and cut of the sail. Decoration beside a name."""
    digest = sha256(str(did).encode()).digest()
    hue = digest[0] / 256
    background = _colour(hue, 0.34, 0.45)
    sail = _colour((hue + 0.08 + digest[1] / 256 * 0.5) % 1, 0.86, 0.75)
    return Markup(  # noqa: S704
        f'<svg class="avatar{" large" if large else ""}" viewBox="0 0 24 24" aria-hidden="true" focusable="false">'
        f'<rect width="24" height="24" rx="6" fill="{background}"/>'
        f'<path d="{SAILS[digest[2] % len(SAILS)]}" fill="{sail}"/><path d="{HULL}" fill="#e5ae43"/></svg>'
    )


@lru_cache(maxsize=KEPT_MAX)
def party(did: str, name: str = "") -> Markup:
    """An agent or account with its face, as a link; without a name it has the place that `NamedPage` fills."""
    system = system_name(did)
    address = f"/events?did={quote(did)}" if system else f"/agents/{quote(did)}"
    shown = theirs(system or name) if system or name else None
    named = '<span class="name">' if shown else f'<span class="name" data-of="{escape(did)}">'
    identifier = "" if system else f'<span class="identifier">{theirs(short_did(did))}</span>'
    return Markup(  # noqa: S704
        f'<a class="party" href="{escape(address)}" title="{escape(apart(did))}">{avatar(did)}{named}{shown or ""}</span>{identifier}</a>'
    )


def short_did(did: Any) -> str:
    """Method and end of a DID, for a place beside its name; another identifier stays whole."""
    text = str(did)
    return f"did:…{text[-DID_END_CHARACTERS:]}" if text.startswith("did:") else text


def system_name(did: Any) -> str:
    """Name of an account of the registry itself, such as "Treasury"; empty for the DID of an agent."""
    parts = str(did).split(":")
    return parts[-1].replace("_", " ").capitalize() if parts[2:3] == ["system"] else ""


def chip(state: Any, words: str = "") -> Markup:
    """State in words with the colour and shape of its kind; `words` replace the name of the state."""
    name = str(state).lower()
    text = words or name.replace("_", " ").capitalize()
    return Markup('<span class="chip {}">{}</span>').format(_KIND_OF.get(name, "frozen"), escape(text))


def _colour(hue: float, lightness: float, saturation: float) -> str:
    red, green, blue = colorsys.hls_to_rgb(hue, lightness, saturation)
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"

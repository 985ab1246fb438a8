"""Phone of the staged developer for well-formed requests, and the forms of the pages of phones.

The stage answers at an IP address, for which no browser makes a passkey: what needs one is refused there.
"""

import itertools
from collections.abc import Awaitable, Callable
from typing import Any

from hansa.foundation.plumbing.storage.database import Tx

PASSKEY = {"id": "AA", "rawId": "AA", "type": "public-key", "response": {}}
RECENT = "UPDATE people_session SET opened_at = now() WHERE browser_token_hash IS NULL"

_numbers = itertools.count(1)


async def phone_to_remove(stage: Any) -> str:
    """The one phone of the staged developer; nobody else has one, nor a second factor, and every password was given a moment ago."""
    number = next(_numbers)

    async def made(tx: Tx) -> str:
        await tx.execute("DELETE FROM people_second_factor")
        await tx.execute("DELETE FROM people_phone_login")
        await tx.execute("DELETE FROM people_phone_device")
        await tx.execute(RECENT)
        await tx.execute(
            "INSERT INTO people_phone_account (developer_id, user_handle)"
            " SELECT id, decode(repeat('00', 32), 'hex') FROM people_developer WHERE email = $1 ON CONFLICT DO NOTHING",
            stage.developer.email,
        )
        device_id = await tx.fetchval(
            "INSERT INTO people_phone_device (developer_id, name, credential_id, public_key, sign_count, cookie_hash,"
            " cookie_ends_at) SELECT id, 'Phone', $2, 'key', 0, sha256($2), now() + interval '1 day'"
            " FROM people_developer WHERE email = $1 RETURNING id",
            stage.developer.email,
            number.to_bytes(8, "big"),
        )
        return str(device_id)

    removable: str = await stage.registry.database.transaction(made)
    return removable


async def forget_phones(stage: Any) -> None:
    """Remove every phone, so that the password alone logs in, and let every password be given a moment ago."""

    async def forgotten(tx: Tx) -> None:
        await tx.execute("DELETE FROM people_second_factor")
        await tx.execute("DELETE FROM people_phone_login")
        await tx.execute("DELETE FROM people_phone_device")
        await tx.execute(RECENT)

    await stage.registry.database.transaction(forgotten)


async def _nothing(stage: Any) -> dict[str, Any]:
    return {}


def _without_phones(members: dict[str, Any]) -> Callable[[Any], Awaitable[dict[str, Any]]]:
    async def filled(stage: Any) -> dict[str, Any]:
        await forget_phones(stage)
        return dict(members)

    return filled


BODIES = {
    "POST /api/v1/auth/phone/devices/options": _without_phones({}),
    "POST /api/v1/auth/phone/devices": _without_phones({"name": "Phone", "credential": PASSKEY}),
    "POST /api/v1/auth/phone/sessions/{session_id}/approve": _without_phones(
        {"number": "00", "assertion": PASSKEY}
    ),
    "POST /api/v1/auth/phone/sessions/{session_id}/deny": _without_phones({"not_me": False}),
}
FORMS = {
    "POST /account/phones/add": _without_phones({}),
    "POST /account/phones": _without_phones({"name": "Phone", "credential": "{}"}),
    "POST /account/phones/{device_id:uuid}/remove": _nothing,
}
MADE_ANEW: dict[str, Callable[[Any], Awaitable[str]]] = {
    "{device_id}": phone_to_remove,
    "{device_id:uuid}": phone_to_remove,
}

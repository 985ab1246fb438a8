"""The snippet in the guide verifies the webhooks of the registry."""

import re
from pathlib import Path
from typing import Any

from tests.rooms.notifications.webhooks.receiver import hook, receiving, registry_that_may_call, send_due

GUIDE = Path(__file__).parents[4] / "docs" / "guides" / "webhooks.md"


def snippet() -> dict[str, Any]:
    """Names that the program of the guide defines."""
    (code,) = re.findall(
        r"^cat > receive.py <<'END'\n(.*?)^END$", GUIDE.read_text(), re.DOTALL | re.MULTILINE
    )
    defined: dict[str, Any] = {}
    exec(code, defined)
    return defined


async def test_the_snippet_in_the_guide_accepts_what_the_registry_sends_and_nothing_else(start_registry):
    is_genuine = snippet()["is_genuine"]
    async with receiving() as receiver:
        registry = await registry_that_may_call(start_registry, receiver)
        hooked = await hook(await registry.developer(), receiver.url)
        await hooked.test()
        await send_due(registry.runtime)
    (got,) = receiver.received
    other = "whsec_" + "A" * 43 + "="
    assert is_genuine(hooked.secret, got.headers, got.body)
    assert not is_genuine(other, got.headers, got.body)
    assert not is_genuine(hooked.secret, got.headers, got.body + b" ")
    assert not is_genuine(hooked.secret, {**got.headers, "webhook-id": "msg_other"}, got.body)
    assert not is_genuine(hooked.secret, {**got.headers, "webhook-timestamp": "1600000000"}, got.body)

"""Show an invitation at registration."""

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.secrets import fingerprint

from . import rules, store
from .errors import InviteCodeUnknown


class Invitation(msgspec.Struct, frozen=True):
    """An invitation that was used once more, and the areas that it gives."""

    id: int
    areas: tuple[str, ...]


async def redeem(tx: Tx, text: str) -> Invitation:
    """Use the invitation up by one. Raises: InviteCodeUnknown."""
    code = rules.code_in(text)
    used = await store.use_invite(tx, fingerprint(code)) if code else None
    if used is None:
        raise InviteCodeUnknown(field="invite_code")
    return Invitation(used[0], tuple(used[1]))


async def note_use(tx: Tx, invitation: Invitation, developer_id: int) -> None:
    """Keep who came by the invitation."""
    await store.add_use(tx, invitation.id, developer_id)

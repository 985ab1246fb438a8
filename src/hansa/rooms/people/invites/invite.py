"""Make, list and revoke invitations. Each act is logged by the invitation's id, never by its code.

Show an invitation at registration.
"""

import re
from collections.abc import Sequence

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.admin_acts import record_admin_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.secrets import fingerprint

from . import rules, store
from .errors import InviteCodeUnknown, InviteGone
from .records import Invite, MadeInvite, NewInvite

SHOWN_CHARACTERS = len(rules.PREFIX) + 1 + rules.GROUP_CHARACTERS
_ID = re.compile(r"inv-([1-9][0-9]{0,17})", re.ASCII)


async def make_invites(
    tx: Tx,
    author: Developer,
    *,
    count: int,
    grants_admin: bool,
    flags: Sequence[str] | None,
    max_uses: int,
    lifetime_days: int | None,
    note: str | None,
) -> list[MadeInvite]:
    """New invitations, alike but for their codes. Raises: AreaOverreach."""
    areas = rules.given_areas(flags, grants_admin=grants_admin, in_reach=author.areas_in_reach)
    codes = [rules.new_code() for _ in range(count)]
    new = NewInvite(
        author_id=author.id, areas=areas, max_uses=max_uses, lifetime_days=lifetime_days, note=note
    )
    invites = await store.add_invites(
        tx, new, [(fingerprint(code), code[:SHOWN_CHARACTERS]) for code in codes]
    )
    first, last = invites[0].id, invites[-1].id
    subject = invite_name(first) if first == last else f"{invite_name(first)} to {invite_name(last)}"
    await record_admin_act(tx, author, act="invite.make", subject=subject)
    return [MadeInvite(code, invite) for code, invite in zip(codes, invites, strict=True)]


async def list_invites(tx: Tx, *, limit: int, offset: int) -> tuple[list[Invite], int]:
    """A page of invitations, newest first, and how many there are in all."""
    return await store.list_invites(tx, limit=limit, offset=offset)


async def revoke_invite(tx: Tx, administrator: Developer, code: str) -> Invite:
    """Revoke the unused rest of the invitation with this code, or with this id of the list.

    Raises: InviteGone.
    """
    plain, numbered = rules.code_in(code), _ID.fullmatch(code)
    invite_id = await store.revoke_invite(
        tx,
        code_hash=fingerprint(plain) if plain else None,
        invite_id=int(numbered[1]) if numbered else None,
    )
    if invite_id is None:
        raise InviteGone
    await record_admin_act(tx, administrator, act="invite.revoke", subject=invite_name(invite_id))
    (invite,) = await store.find_invites(tx, [invite_id])
    return invite


def invite_name(invite_id: int) -> str:
    """How an invitation is called where its code is not to be seen."""
    return f"inv-{invite_id}"


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

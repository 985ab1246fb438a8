"""Form of an invitation: a code of 80 random bits, and the areas that it gives.

- A code is the prefix and four groups of four characters, none of which is mistaken for another; case is no matter.
- It gives areas that its author administers, never more, and never gives a right that the operator alone gives.
"""

import re
import secrets
from collections.abc import Collection, Sequence

from hansa.foundation.values.areas import ADMIN_AREAS

from .errors import AreaOverreach

PREFIX = "HANSA"
GROUPS = 4
GROUP_CHARACTERS = 4
# Without I, L, O and U.
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

_CODE = re.compile(rf"{PREFIX}(?:-[{ALPHABET}]{{{GROUP_CHARACTERS}}}){{{GROUPS}}}")


def new_code() -> str:
    """A code such as `HANSA-7K2M-09XQ-…`."""
    groups = ("".join(secrets.choice(ALPHABET) for _ in range(GROUP_CHARACTERS)) for _ in range(GROUPS))
    return "-".join((PREFIX, *groups))


def code_in(text: str) -> str | None:
    """The code as it was issued, or None when the text is none."""
    code = text.strip(" ").upper()
    return code if _CODE.fullmatch(code) else None


def given_areas(
    flags: Sequence[str] | None, *, grants_admin: bool, in_reach: Collection[str]
) -> tuple[str, ...]:
    """The areas that an invitation gives, each once, in their usual order. Raises: AreaOverreach."""
    requested = set(flags or ADMIN_AREAS) if grants_admin else set()
    if out_of_reach := sorted(requested - set(in_reach)):
        raise AreaOverreach(context={"areas": out_of_reach})
    return tuple(area for area in ADMIN_AREAS if area in requested)

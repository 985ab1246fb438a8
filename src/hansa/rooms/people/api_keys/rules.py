"""Scopes of an API key: those asked for, as far as its maker has them.

- Without a word about scopes a key has every one, so a narrow key cannot make such a key.
- The scope of an area is for those who administer the area.
"""

from collections.abc import Collection, Sequence

from hansa.foundation.values.scopes import EVERY_SCOPE, SCOPES, allows

from .errors import ScopeBroader

KEYS_PER_ACCOUNT = 20
NAME_MAX_CHARACTERS = 100
TTL_MAX_DAYS = 3650


def granted_scopes(
    asked: Sequence[str] | None, *, held: Collection[str], areas: Collection[str]
) -> tuple[str, ...]:
    """The scopes of the new key, each once, in their usual order. Raises: ScopeBroader."""
    requested = {EVERY_SCOPE} if asked is None or EVERY_SCOPE in asked else set(asked)
    out_of_reach = sorted(
        scope
        for scope in requested
        if not allows(held, scope)
        or (scope.startswith("admin:") and scope.removeprefix("admin:") not in areas)
    )
    if out_of_reach:
        raise ScopeBroader(context={"scopes": out_of_reach})
    return tuple(scope for scope in SCOPES if scope in requested)

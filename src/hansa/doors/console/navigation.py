"""The navigation of a person who is logged in: what one may not open is not shown."""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class Link:
    """A page of the account, or of the administration where `area` is needed."""

    path: str
    name: str
    area: str | None = None


LINKS = (
    Link("/account", "Account"),
    Link("/account/wallets", "Wallets"),
    Link("/account/sessions", "Sessions"),
)
ADMINISTRATION = Link("/administration", "Administration")


def links_for(areas: Collection[str]) -> list[Link]:
    """The links of a person who administers these areas."""
    shown = [link for link in LINKS if link.area is None or link.area in areas]
    return [*shown, ADMINISTRATION] if areas else shown

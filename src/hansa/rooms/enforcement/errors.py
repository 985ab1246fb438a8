"""Refusals of the room."""

from hansa.foundation.values.errors import Forbidden, NotFound


class DeveloperUnknown(NotFound):
    """No developer has this id."""

    sentence = "No developer has this id."


class AccountOfCaller(Forbidden):
    """Administrators cannot suspend or reinstate their own account."""

    sentence = "You cannot suspend or reinstate your own account: another administrator must do it."

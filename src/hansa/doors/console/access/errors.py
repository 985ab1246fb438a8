"""Why the console refuses a form."""

from collections.abc import Mapping

from hansa.foundation.values.errors import Conflict, Forbidden, Invalid


class CrossSiteForm(Forbidden):
    """The form does not come from a page of this registry, or the browser does not say where it comes from."""

    code = "CROSS_SITE_FORM"
    sentence = "This form was not sent from a page of this registry; nothing was changed."
    remedy = "Open the page on the address of this registry, and send the form from there."


class FormExpired(Conflict):
    """The form was opened more than a day ago, by another account, or carries no key; nothing was changed."""

    code = "FORM_EXPIRED"
    sentence = "This form is older than a day or was opened by another account; nothing was changed."
    remedy = "Open the page again and send the form from there."


class ConsoleNeedsHttps(Forbidden):
    """Login in the browser needs https, or a registry that is reached by a loopback address."""

    code = "CONSOLE_NEEDS_HTTPS"
    sentence = "Login in the browser requires https; the operator sets PUBLIC_BASE_URL to an https address."
    remedy = "Use the https address of the registry, or ask its operator for one."


class FormRefused(Invalid):
    """A field of a form does not have the required format; the page shows each message beside its field."""

    code = "FORM_REFUSED"
    sentence = "Check the marked fields."

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__()
        self.errors = dict(errors)

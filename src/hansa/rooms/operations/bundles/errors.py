"""Refusals of bundles."""

from hansa.foundation.values.errors import Conflict, Invalid, NotFound


class BundleUnknown(NotFound):
    """The owner of the agent has no stored bundle with this id."""

    code = "BUNDLE_UNKNOWN"
    sentence = "The owner of this agent has no stored bundle with this id."


class SecretInBundle(Invalid):
    """The bundle would contain a secret."""

    code = "SECRET_IN_BUNDLE"
    sentence = "A text of the agent has the form of a secret; nothing was exported."
    remedy = "Remove the secret from the member that `error.field` names, replace it where it is used, then export again."


class BundleTooLarge(Conflict):
    """The bundle would be larger than 2 MiB."""

    code = "BUNDLE_TOO_LARGE"
    sentence = "The bundle of this agent would be larger than 2 MiB."
    remedy = "Shorten the card or the pipelines of the agent, then export again."


class BundleRefused(Invalid):
    """The bundle is not one that this registry or a peer signed."""

    code = "BUNDLE_REFUSED"
    sentence = "The bundle is not one that this registry or a peer signed."
    remedy = "Export the agent again at its registry and send the bundle unchanged."

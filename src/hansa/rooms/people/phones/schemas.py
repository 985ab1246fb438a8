"""Shapes of requests and answers about phones."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, Field, StrictBool

from hansa.foundation.values.lazy_model import LazyModel
from hansa.foundation.values.request_body import RequestBody
from hansa.rooms.people.rules import display_name
from hansa.rooms.people.schemas import CODE_MAX_CHARACTERS

from .passkeys import encoded
from .records import Device, PhoneLogin
from .rules import NAME_MAX_CHARACTERS

PhoneName = Annotated[str, Field(min_length=1, max_length=NAME_MAX_CHARACTERS), AfterValidator(display_name)]
Credential = Annotated[
    dict[str, Any],
    Field(description="Answer of the browser, as PublicKeyCredential.toJSON() returns it.", repr=False),
]
Password = Annotated[str, Field(min_length=1, max_length=1024, repr=False)]


class PresenceIn(RequestBody):
    """Proof of presence: the password where the login is older than ten minutes, a code where the authenticator app is on."""

    password: Password | None = Field(
        default=None, repr=False, description="Required where the login is older than ten minutes."
    )
    totp_code: Annotated[str, Field(max_length=CODE_MAX_CHARACTERS)] | None = Field(
        default=None, repr=False, description="A code of the app or a backup code, where the app is on."
    )


class CreationOptionsOut(LazyModel):
    """Options for navigator.credentials.create; binary members are base64url. They are good for five minutes, in this session."""

    public_key: dict[str, Any] = Field(
        serialization_alias="publicKey",
        description="PublicKeyCredentialCreationOptions in JSON, for PublicKeyCredential.parseCreationOptionsFromJSON().",
    )


class PhoneIn(RequestBody):
    """A browser with its new passkey. The answer sets the cookie of the phone."""

    name: PhoneName
    credential: Credential
    password: Password | None = Field(
        default=None, repr=False, description="Required where the login is older than ten minutes."
    )


class PhoneOut(LazyModel):
    """A phone that approves logins."""

    id: UUID
    name: str
    created_at: datetime
    last_used_at: datetime | None = Field(description="Time of the last approval, or null.")

    @classmethod
    def of(cls, device: Device) -> "PhoneOut":
        """The phone, as its owner sees it."""
        return cls(
            id=device.id, name=device.name, created_at=device.created_at, last_used_at=device.last_used_at
        )


class PhonesOut(LazyModel):
    """The phones of the account, newest first: at most five."""

    items: list[PhoneOut]
    next: None = Field(default=None, description="Always null: one page has all phones.")


class PhoneRemovedOut(LazyModel):
    """A phone that was removed."""

    id: UUID
    deleted: Literal[True] = True


class PhoneSessionOut(LazyModel):
    """A login that waits for an approval. The number stands on the login page alone."""

    id: UUID
    challenge: str = Field(description="Challenge for the passkey, in base64url.")
    address: str = Field(description="The network address of the login; IPv6 by its /64.")
    user_agent: str = Field(description="The User-Agent of the browser that logs in.")
    at: datetime
    expires_at: datetime

    @classmethod
    def of(cls, login: PhoneLogin) -> "PhoneSessionOut":
        """The login, as a phone sees it."""
        return cls(
            id=login.id,
            challenge=encoded(login.challenge),
            address=login.address,
            user_agent=login.user_agent,
            at=login.asked_at,
            expires_at=login.expires_at,
        )


class PhoneApprovalIn(RequestBody):
    """Approval of a login: the number of its page, and the passkey's answer to its challenge."""

    number: Annotated[str, Field(pattern=r"^[0-9]{2}$")] = Field(
        repr=False, description="The number of two digits on the login page, as it was typed."
    )
    assertion: Credential


class PhoneDenialIn(RequestBody):
    """Denial of a login."""

    not_me: StrictBool = Field(description="True: somebody else logged in with the password.")


class DecidedOut(LazyModel):
    """A login that was decided."""

    id: UUID
    status: Literal["approved", "denied"]

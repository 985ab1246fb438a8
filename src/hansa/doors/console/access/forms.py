"""A form as it was sent, and as a page shows it again: values kept, each message beside its field."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import parse_qsl

from fastapi import Request
from pydantic import BaseModel, ValidationError

from hansa.foundation.plumbing.web.bodies import BODY_MAX_BYTES, FORM, BodyInvalid, read_within
from hansa.foundation.plumbing.web.invalid_member import without_type
from hansa.foundation.values.errors import Refused, UnsupportedMediaType

from .errors import FormRefused

KEY_FIELD = "form_key"
RESUME_FIELD = "resume"
# Never shown again, never kept for after a login.
SECRET_FIELDS = frozenset(
    {
        "password",
        "current_password",
        "new_password",
        "code",
        "recovery_key",
        "client_secret",
        "password_token",
        "payment_token",
        "invitation_token",
        "totp_code",
        "credential",
    }
)
FIELDS_MAX = 1000

# The kinds of error that an empty field has.
WHERE_EMPTY = frozenset({"missing", "string_too_short", "string_pattern_mismatch"})

_DECIMAL_COMMA = re.compile(r"(\d{1,11}),(\d{1,8})", re.ASCII)
THOUSAND_DIGITS = 3
_BROWSER_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d", re.ASCII)
_WHOLE_NUMBER = re.compile(r"[0-9]{1,18}", re.ASCII)
_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(frozen=True)
class SentForm:
    """The fields of a form and their errors; without any, a form that is still empty."""

    fields: Sequence[tuple[str, str]] = field(default=(), repr=False)
    errors: Mapping[str, str] = field(default_factory=dict)
    message: str | None = None
    """What is wrong with the whole."""

    def value(self, name: str) -> str:
        """The last value of a field, or an empty text."""
        return next((value for key, value in reversed(self.fields) if key == name), "")

    def values(self, name: str) -> list[str]:
        """Every value of a field that may stand several times, as check boxes do."""
        return [value for key, value in self.fields if key == name]

    def shown(self, name: str) -> str:
        """Return the value that a page shows in the field: nothing of a secret."""
        return "" if name in SECRET_FIELDS else self.value(name)

    @property
    def kept(self) -> list[tuple[str, str]]:
        """The fields without secrets."""
        return [(name, value) for name, value in self.fields if name not in SECRET_FIELDS]

    def read_as(self, model: type[_Model], **given: object) -> _Model:
        """The form as a model of the API; `given` are members that are no plain texts. Empty optional fields are left out.

        Raises: FormRefused.
        """
        members = {
            name: self.value(name)
            for name, member in model.model_fields.items()
            if name not in given and (self.value(name) != "" or member.is_required())
        }
        try:
            return model.model_validate({**members, **given})
        except ValidationError as error:
            with_points = _with_decimal_points(members, error)
            if with_points == members:
                raise FormRefused(_messages(error)) from None
        try:
            return model.model_validate({**with_points, **given})
        except ValidationError as error:
            raise FormRefused(_messages(error)) from None

    def refused(self, refusal: Refused) -> "SentForm":
        """Return the same form with the errors of the refusal."""
        if isinstance(refusal, FormRefused):
            return SentForm(self.fields, refusal.errors, refusal.detail)
        errors = {refusal.field: refusal.detail} if refusal.field else {}
        return SentForm(self.fields, errors, refusal.detail)


def with_decimal_point(text: str) -> str:
    """The amount with a point where it was written with a decimal comma; three digits after the comma may be thousands, and stay."""
    written = _DECIMAL_COMMA.fullmatch(text.strip())
    return f"{written[1]}.{written[2]}" if written and len(written[2]) != THOUSAND_DIGITS else text


def whole_number(text: str) -> int | str:
    """The number that a field holds, or its text for a model to refuse."""
    stripped = text.strip()
    return int(stripped) if _WHOLE_NUMBER.fullmatch(stripped) else stripped


def moment_in_utc(text: str) -> str:
    """The moment of a field of a browser, which is in UTC here, as the API takes it; any other text stays, for a model to refuse."""
    return f"{text}:00Z" if _BROWSER_MOMENT.fullmatch(text) else text


async def read_form(request: Request) -> SentForm:
    """The form that was sent. Raises: UnsupportedMediaType, PayloadTooLarge, BodyInvalid."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type not in {FORM, ""}:
        raise UnsupportedMediaType(f"This page takes a form ({FORM}).")
    body = await read_within(request, BODY_MAX_BYTES)
    try:
        fields = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=FIELDS_MAX
        )
    except (UnicodeDecodeError, ValueError):
        raise BodyInvalid("The form is not percent-encoded UTF-8, or has too many fields.") from None
    # Browsers end the lines of a text with CR LF.
    fields = [(name, value.replace("\r\n", "\n")) for name, value in fields]
    if any("\x00" in text for pair in fields for text in pair):
        raise BodyInvalid("The form contains a NUL character.")
    return SentForm(fields)


def _with_decimal_points(members: Mapping[str, str], failure: ValidationError) -> dict[str, str]:
    """The members, of which those of another pattern that are amounts with a decimal comma have a point."""
    refused = {
        error["loc"][0]
        for error in failure.errors()
        if error["type"] == "string_pattern_mismatch" and error["loc"]
    }
    return {name: with_decimal_point(value) if name in refused else value for name, value in members.items()}


def _messages(failure: ValidationError) -> dict[str, str]:
    """A sentence for each field, the first one of each."""
    found: dict[str, str] = {}
    for error in failure.errors():
        text = without_type(error["msg"])
        is_empty = error["type"] in WHERE_EMPTY and not str(error.get("input") or "").strip()
        if is_empty:
            sentence = "This field is required."
        elif error["type"] == "string_pattern_mismatch":
            sentence = "This does not have the required format; an amount is a decimal number such as 1.5."
        else:
            sentence = f"{text[:1].upper()}{text[1:]}."
        found.setdefault(str(error["loc"][0]) if error["loc"] else "", sentence)
    return found

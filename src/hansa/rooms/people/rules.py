"""Rules of registration: the form of passwords, e-mail addresses and display names.

- A password has 12 to 128 characters and all four classes; it holds nothing but ASCII letters, digits and the listed
  special characters, and no common word.
- An e-mail address is ASCII, `local@domain` with at least two labels in the domain.
- A display name is kept in NFC, shows every character it holds, and has at least one letter or digit.
"""

import re
import string
import unicodedata

from .errors import PasswordRefused

SPECIAL_CHARACTERS = "!@#$%^&*()_+-=[]{}|;:,.<>?"
COMMON_WORDS = ("password", "admin", "qwerty", "letmein", "iloveyou", "welcome")
PASSWORD_CLASSES = {
    "an upper-case letter": string.ascii_uppercase,
    "a lower-case letter": string.ascii_lowercase,
    "a digit": string.digits,
    f"one of {SPECIAL_CHARACTERS}": SPECIAL_CHARACTERS,
}

EMAIL_MAX_CHARACTERS = 254
NAME_MAX_CHARACTERS = 64

# No question mark, quotes or encoded words in the local part: mail headers would read more into them.
_ATOM = r"[A-Za-z0-9!#$%&'*+/=^_`{|}~-]+"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_EMAIL = re.compile(rf"(?=.{{1,64}}@){_ATOM}(?:\.{_ATOM})*@(?:{_LABEL}\.)+(?=[A-Za-z]){_LABEL}")

_UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
# Letters and marks that show nothing: joiners, fillers, variation selectors, the blank braille cell.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def missing_class(password: str) -> str | None:
    """The first class of characters that the password lacks, in words."""
    for words, characters in PASSWORD_CLASSES.items():
        if not any(character in characters for character in password):
            return words
    return None


def require_acceptable_password(password: str, field: str = "password") -> None:
    """Raises: PasswordRefused, naming the field."""
    permitted = string.ascii_letters + string.digits + SPECIAL_CHARACTERS
    if any(character not in permitted for character in password):
        raise PasswordRefused(
            f"The password may contain only ASCII letters, digits and {SPECIAL_CHARACTERS}.", field=field
        )
    if any(word in password.lower() for word in COMMON_WORDS):
        raise PasswordRefused("The password contains a common word.", field=field)


def is_email(text: str) -> bool:
    """Return whether this is an address that mail can be sent to, by its form."""
    return len(text) <= EMAIL_MAX_CHARACTERS and _EMAIL.fullmatch(text) is not None


def display_name(text: str) -> str:
    """Return the name as it is kept. Raises: ValueError, saying how the name is wrong."""
    name = unicodedata.normalize("NFC", text.strip(" "))
    if any(unicodedata.category(character) in _UNSEEN_CATEGORIES for character in name) or _UNSEEN.search(
        name
    ):
        raise ValueError("must not contain control, zero-width or other invisible characters")
    if not any(character.isalnum() for character in name):
        raise ValueError("must contain at least one letter or digit")
    if len(name) > NAME_MAX_CHARACTERS:
        raise ValueError(f"must have at most {NAME_MAX_CHARACTERS} characters")
    return name

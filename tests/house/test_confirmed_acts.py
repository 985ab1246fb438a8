"""Acts of one button that end or pay something state their effect before they are carried out."""

import re
from pathlib import Path

import hansa.doors.console

TEMPLATES = Path(hansa.doors.console.__file__).parent / "templates"
ENDS = re.compile(
    r"/(revoke|delete|drop|rotate-secret|rotate-signing-key|disable-mtls|release|approve|end|stop|open-voting)\""
)
BUTTON = re.compile(r"fields\.button\((.*?)\) \}\}", re.DOTALL)
# A session is opened again by a login.
UNDONE_BY_A_LOGIN = "/account/sessions/"


def test_no_button_ends_or_pays_something_before_its_effect_is_stated():
    found = [
        (path.name, call)
        for path in TEMPLATES.rglob("*.html")
        for call in BUTTON.findall(path.read_text())
        if ENDS.search(call)
    ]
    assert len(found) > 10
    assert [name for name, call in found if "effect=" not in call and UNDONE_BY_A_LOGIN not in call] == []

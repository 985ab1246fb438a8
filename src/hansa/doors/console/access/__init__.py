"""Policies of browser pages: the person who is logged in, and the forms that such a person sends.

The parameter type in a page's signature is its policy, as for the routes of the API:

- `SignedInPerson`: a page for a person who is logged in; `person_holding(area)`: who administers that area as well;
  `AnyAdministrator`: who administers any area. Without a session the answer leads to the login, and back.
- `Act`: a form of such a person, unless suspended; `AccountAct`: of a suspended one too; `act_in(area)` and `proved_act`
  (`ProvedAct`) need an area, or the password once more; `proved_upload_in(area, page, size)` takes a file as well.
- `OpenForm`: a form that needs no login; `Visitor` and `VisitorAct`: one with a key, carried out once.

A form is taken only from the registry's own pages (`same_origin`). The form of a person who is logged in carries a key
(`form_keys`): it is good for that account and one day, and repeats the first outcome when it is sent again (`act_once`).
"""

from .errors import FormRefused
from .form_acts import AtOneMoment, act_once, tried, try_once
from .forms import SentForm, whole_number
from .pages import account_page, form_page, see_other
from .policy import (
    AccountAct,
    Act,
    Acting,
    AnyAdministrator,
    Diverted,
    OpenForm,
    ProvedAccountAct,
    ProvedAct,
    SignedIn,
    SignedInPerson,
    Uploading,
    Visiting,
    Visitor,
    VisitorAct,
    act_in,
    new_form_key,
    person_holding,
    person_of,
    proved_act_in,
    proved_upload_in,
    require_proof,
)

__all__ = [
    "AccountAct",
    "Act",
    "Acting",
    "AnyAdministrator",
    "AtOneMoment",
    "Diverted",
    "FormRefused",
    "OpenForm",
    "ProvedAccountAct",
    "ProvedAct",
    "SentForm",
    "SignedIn",
    "SignedInPerson",
    "Uploading",
    "Visiting",
    "Visitor",
    "VisitorAct",
    "account_page",
    "act_in",
    "act_once",
    "form_page",
    "new_form_key",
    "person_holding",
    "person_of",
    "proved_act_in",
    "proved_upload_in",
    "require_proof",
    "see_other",
    "tried",
    "try_once",
    "whole_number",
]

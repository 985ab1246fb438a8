"""Descriptor of the people room for the process."""

from hansa.foundation.plumbing.jobs import sweep, sweep_with_runtime
from hansa.foundation.plumbing.room import ACCOUNT_END, Room, Routes
from hansa.foundation.plumbing.telemetry.metrics import passwords_waiting
from hansa.foundation.plumbing.web.caller import DEVELOPER_CHECK, PASSWORD_SETTER_CHECK

from .api_keys import router as api_keys_router
from .audit_log import router as audit_log_router
from .calls import WRITE_CALLS, writing_the_rest
from .check import check_developer
from .deletion import HAS_DUE, carry_out_due
from .deletion import router as deletion_router
from .expiry import forget_ended
from .invites import router as invites_router
from .oauth import (
    CONNECTIONS_FOLLOW,
    CONNECTIONS_OF_AGENTS,
    connections_router,
    end_past_grants,
    oauth_router,
)
from .phones.routes import router as phones_router
from .recovery import FORGOTTEN_PASSWORDS, check_password_setter
from .routes import router
from .two_factor import SEALED_SEEDS

ROOM = Room(
    name="people",
    routes=(
        Routes(300, router),
        Routes(350, phones_router),
        Routes(400, api_keys_router),
        Routes(500, audit_log_router),
        Routes(600, deletion_router),
        Routes(700, invites_router),
        Routes(750, connections_router),
        Routes(3150, oauth_router, at_root=True),
    ),
    reactors=(CONNECTIONS_FOLLOW,),
    jobs=(
        FORGOTTEN_PASSWORDS,
        CONNECTIONS_OF_AGENTS,
        sweep("people: end past connections", 60, end_past_grants),
        sweep_with_runtime(
            "people: carry out deletions",
            60,
            lambda tx, runtime: carry_out_due(tx, ACCOUNT_END.of(runtime)),
            has_work=HAS_DUE,
            once_a_turn=True,
        ),
        sweep("people: forget what has ended", 3600, forget_ended),
    ),
    rounds=(WRITE_CALLS,),
    background=(writing_the_rest,),
    settings=frozenset(
        {
            "access_token_expire_minutes",
            "account_deletion_cooling_off_days",
            "api_key_default_ttl_days",
            "base_url",
            "beta_invite_required",
            "documents_version",
            "email_verification_required",
            "oauth_redirect_schemes",
            "registry_name",
            "tos_consent_required",
            "tos_version",
            "age_confirmation_required",
        }
    ),
    metrics=(passwords_waiting,),
    sealed=(SEALED_SEEDS,),
    fills=(
        DEVELOPER_CHECK.filled_with(check_developer),
        PASSWORD_SETTER_CHECK.filled_with(check_password_setter),
    ),
)

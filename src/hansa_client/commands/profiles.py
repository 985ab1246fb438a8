"""Profiles of the command line: registries and their stored identities, without any secret.

They are in one file of the directory HANSA_CLIENT_DIR, by default `hansa-client` in the user's configuration directory.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from hansa_client.errors import HansaError

DIRECTORY_VARIABLE = "HANSA_CLIENT_DIR"
FIRST = "default"


class NothingStored(HansaError):
    """The command needs something that was not stored on this machine."""


class StoredAgent(msgspec.Struct, frozen=True):
    """An agent whose secret is in the vault."""

    did: str
    client_id: str
    name: str


class Profile(msgspec.Struct):
    """One developer at one registry."""

    url: str
    email: str | None = None
    agents: list[StoredAgent] = []
    agent: str | None = None
    """The DID of the agent that commands act for."""

    def chosen(self, name: str | None) -> StoredAgent:
        """The stored agent with this DID or name, or the one in use. Raises: NothingStored."""
        key = name or self.agent
        for agent in self.agents:
            if key in {agent.did, agent.name}:
                return agent
        if name is None:
            raise NothingStored("There is no agent yet. Create one with `agent create`.")
        raise NothingStored(f"The credentials of the agent {name} are not stored in this profile.")


class Profiles(msgspec.Struct):
    """All profiles of this user."""

    current: str = FIRST
    profiles: dict[str, Profile] = {}

    def named(self, name: str | None) -> tuple[str, Profile]:
        """A profile, or the one in use. Raises: NothingStored."""
        name = name or self.current
        if name not in self.profiles:
            raise NothingStored(f"There is no profile {name}. Create it with `login URL`.")
        return name, self.profiles[name]


def directory() -> Path:
    """Return the directory of the profiles; made where there is none, for this user alone."""
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    path = Path(os.environ.get(DIRECTORY_VARIABLE) or str(Path(base) / "hansa-client"))
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def read_profiles() -> Profiles:
    """Return the stored profiles. Raises: NothingStored when the file cannot be read as profiles."""
    file = directory() / "profiles.json"
    try:
        return msgspec.json.decode(file.read_bytes(), type=Profiles)
    except FileNotFoundError:
        return Profiles()
    except msgspec.DecodeError as error:
        raise NothingStored(f"{file} is not a file of profiles: {error}") from None


@contextmanager
def changed_profiles() -> Iterator[Profiles]:
    """The profiles, stored as they are left; no other command changes them meanwhile."""
    with locked():
        profiles = read_profiles()
        yield profiles
        write_privately(directory() / "profiles.json", msgspec.json.format(msgspec.json.encode(profiles)))


@contextmanager
def locked() -> Iterator[None]:
    """One command at a time; where the system has no such lock, nothing is locked."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with (directory() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def write_privately(file: Path, content: bytes) -> None:
    """Replace a file at once, readable for this user alone."""
    new = file.with_name(f"{file.name}.{os.getpid()}.new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
    new.replace(file)

"""SoftHSM: a PKCS#11 module in software, with tokens in a folder of the test."""

import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from os import environ
from pathlib import Path

import pkcs11
from pkcs11 import Attribute, KeyType, Mechanism

from tests import debian_packages

SYSTEM_PATHS = "/usr/local/bin:/usr/bin:/bin"
LIBRARIES = (
    "/usr/lib/softhsm/libsofthsm2.so",
    "/usr/lib64/pkcs11/libsofthsm2.so",
    "/usr/local/lib/softhsm/libsofthsm2.so",
)
PIN = "7391-4410"
# The name of the curve as a DER PrintableString.
EDWARDS25519 = b"\x13\x0cedwards25519"


@cache
def library() -> str:
    """The module. Where there is none, Debian's package is installed."""
    found = [path for path in LIBRARIES if Path(path).exists()]
    if not found:
        debian_packages.install("softhsm2")
        found = [path for path in LIBRARIES if Path(path).exists()]
    assert found, "SoftHSM is needed: apt-get install softhsm2"
    return found[0]


@dataclass(frozen=True)
class Token:
    """A token of its own configuration, opened by `PIN`."""

    directory: Path
    label: str

    @classmethod
    def make(cls, directory: Path, label: str) -> "Token":
        library()
        made = cls(directory, label)
        made.store.mkdir(parents=True)
        configuration = (
            f"directories.tokendir = {made.store}\nobjectstore.backend = file\nlog.level = ERROR\n"
        )
        (directory / "softhsm2.conf").write_text(configuration)
        (directory / "pin").write_text(f"{PIN}\n")
        program = shutil.which("softhsm2-util", path=SYSTEM_PATHS) or "softhsm2-util"
        begin = ("--init-token", "--free", "--label", label, "--pin", PIN, "--so-pin", PIN)
        environment = {**environ, "SOFTHSM2_CONF": str(directory / "softhsm2.conf")}
        subprocess.run([program, *begin], env=environment, check=True, capture_output=True)
        return made

    @property
    def store(self) -> Path:
        return self.directory / "tokens"

    @property
    def settings(self) -> dict[str, str]:
        """The variables of a process that uses its keys."""
        return {
            "SOFTHSM2_CONF": str(self.directory / "softhsm2.conf"),
            "HANSA_KEY_MODULE": library(),
            "HANSA_KEY_MODULE_PIN_FILE": str(self.directory / "pin"),
        }

    def address(self, label: str) -> str:
        return f"pkcs11:token={self.label};object={label}"

    def make_keys(self, *labels: str) -> None:
        """Make Ed25519 keys that cannot be taken out."""
        environ["SOFTHSM2_CONF"] = str(self.directory / "softhsm2.conf")
        module = pkcs11.lib(library())
        module.reinitialize()
        with module.get_token(token_label=self.label).open(rw=True, user_pin=PIN) as session:
            curve = session.create_domain_parameters(
                KeyType.EC_EDWARDS, {Attribute.EC_PARAMS: EDWARDS25519}, local=True
            )
            for label in labels:
                curve.generate_keypair(mechanism=Mechanism.EC_EDWARDS_KEY_PAIR_GEN, store=True, label=label)

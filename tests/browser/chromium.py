"""Finds the browser of the page tests, and gets one where there is none: `python -m tests.browser.chromium`.

A Chromium without windows (`chromium-headless-shell`) is preferred: it draws the same pages with a fourth of the CPU. Debian's
package of it is installed where packages may be. Elsewhere an installed Chromium or Chrome is taken as it is; where there is none,
Playwright's own build is fetched. With none of them the page tests fail and say so.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

SHELLS = ("chromium-headless-shell", "chrome-headless-shell")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PLACES = (
    "/usr/bin/chromium-headless-shell",
    "/usr/bin/chromium",
    "/usr/lib/chromium/chromium",
    "/snap/bin/chromium",
    "/opt/google/chrome/chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
DOWNLOADED = (
    *("chromium_headless_shell-*/*/chrome-headless-shell", "chromium-*/chrome-linux*/chrome"),
    "chromium-*/chrome-mac*/*.app/Contents/MacOS/*",
)
ANSWER_SECONDS = 120
INSTALL_SECONDS = 900
NONE_FOUND = (
    "no browser for the page tests: neither CHROMIUM nor the PATH nor the usual places hold a Chromium or Chrome that "
    "starts. `make browser` installs one."
)


Attempt = tuple[str, list[list[str]]]
"""The name of what is tried, and its commands."""


class NoBrowser(Exception):
    """There is no browser, and none could be had; the message is for a person."""


def find(environ: Mapping[str, str] = os.environ, places: tuple[str, ...] = PLACES) -> str | None:
    """The browser to use, or None. A CHROMIUM that does not start is not replaced by another. Raises: NoBrowser."""
    if given := environ.get("CHROMIUM"):
        if not _starts(given):
            raise NoBrowser(f"CHROMIUM={given} is no browser that starts.")
        return given
    return next((path for path in _candidates(environ, places) if _starts(path)), None)


def get(
    environ: Mapping[str, str] = os.environ,
    places: tuple[str, ...] = PLACES,
    *,
    may_install: bool = hasattr(os, "geteuid") and os.geteuid() == 0,
) -> str:
    """The browser to use, installed where there was none, or none without windows. Raises: NoBrowser."""
    found = find(environ, places)
    if found and (environ.get("CHROMIUM") or _is_shell(found)):
        return found
    attempts = _of_debian(environ) if may_install else []
    # One that somebody installed is not replaced by a download.
    attempts += [] if found else _of_playwright(may_install=may_install and bool(attempts))
    for name, commands in attempts:
        print(f"no browser without windows found: {name}", flush=True)
        if all(_runs(command, environ) for command in commands) and (new := find(environ, places)):
            return new
    if found:
        return found
    raise NoBrowser(f"{NONE_FOUND} Tried without success: {'; '.join(name for name, _ in attempts)}.")


def _is_shell(path: str) -> bool:
    return Path(path).name in SHELLS


def _candidates(environ: Mapping[str, str], places: tuple[str, ...]) -> Iterator[str]:
    """Those without windows first."""
    found = [shutil.which(name, path=environ.get("PATH", "")) for name in (*SHELLS, *BROWSERS)]
    downloads = Path(
        environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path(environ.get("HOME", "/")) / ".cache/ms-playwright"
    )
    downloaded = [
        str(path) for pattern in DOWNLOADED for path in sorted(downloads.glob(pattern), reverse=True)
    ]
    yield from sorted([*filter(None, found), *places, *downloaded], key=lambda path: not _is_shell(path))


def _of_debian(environ: Mapping[str, str]) -> list[Attempt]:
    apt = shutil.which("apt-get", path=environ.get("PATH", ""))
    if apt is None:
        return []
    install = [
        apt,
        "-qy",
        "install",
        "--no-install-recommends",
        "chromium-headless-shell",
        "fonts-liberation",
    ]
    return [("Debian's package", [[apt, "-q", "update"], install])]


def _of_playwright(*, may_install: bool) -> list[Attempt]:
    playwright = [sys.executable, "-m", "playwright", "install", "--only-shell"]
    # What the build needs of the system is again a matter of packages.
    return [
        ("Playwright's own build", [[*playwright, *(["--with-deps"] if may_install else []), "chromium"]])
    ]


def _runs(command: list[str], environ: Mapping[str, str]) -> bool:
    try:
        done = subprocess.run(
            command,
            env={**environ, "DEBIAN_FRONTEND": "noninteractive"},
            timeout=INSTALL_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _starts(path: str) -> bool:
    """Some distributions keep a script of that name that only names another package."""
    try:
        printed = subprocess.run(
            [path, "--version"], capture_output=True, timeout=ANSWER_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return printed.returncode == 0


if __name__ == "__main__":
    try:
        print(get())
    except NoBrowser as trouble:
        # The page tests will say so, each; the other tests are worth running all the same.
        print(trouble, file=sys.stderr)

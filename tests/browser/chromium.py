"""Finds the browser of the page tests, and gets one where there is none: `python -m tests.browser.chromium`.

An installed Chromium or Chrome is taken as it is. Else Debian's package is installed where packages may be, else
Playwright's own build is fetched. With none of them the page tests fail and say so.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PLACES = (
    "/usr/bin/chromium",
    "/usr/lib/chromium/chromium",
    "/snap/bin/chromium",
    "/opt/google/chrome/chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
ANSWER_SECONDS = 120
INSTALL_SECONDS = 900
NONE_FOUND = (
    "no browser for the page tests: neither CHROMIUM nor the PATH nor the usual places hold a Chromium or Chrome that "
    "starts. `make browser` installs one."
)


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
    """The browser to use, installed where there was none. Raises: NoBrowser."""
    if found := find(environ, places):
        return found
    tried = []
    for name, commands in _installations(environ, may_install=may_install):
        print(f"no browser found: {name}", flush=True)
        if all(_runs(command, environ) for command in commands) and (found := find(environ, places)):
            return found
        tried.append(name)
    raise NoBrowser(f"{NONE_FOUND} Tried without success: {'; '.join(tried)}.")


def _candidates(environ: Mapping[str, str], places: tuple[str, ...]) -> Iterator[str]:
    for name in NAMES:
        if path := shutil.which(name, path=environ.get("PATH", "")):
            yield path
    yield from places
    downloads = environ.get("PLAYWRIGHT_BROWSERS_PATH") or str(
        Path(environ.get("HOME", "/")) / ".cache/ms-playwright"
    )
    for pattern in ("chromium-*/chrome-linux*/chrome", "chromium-*/chrome-mac*/*.app/Contents/MacOS/*"):
        yield from sorted(map(str, Path(downloads).glob(pattern)), reverse=True)


def _installations(environ: Mapping[str, str], *, may_install: bool) -> Iterator[tuple[str, list[list[str]]]]:
    apt = shutil.which("apt-get", path=environ.get("PATH", ""))
    if may_install and apt:
        packages = ["chromium", "fonts-liberation"]
        yield (
            "Debian's package",
            [[apt, "-q", "update"], [apt, "-qy", "install", "--no-install-recommends", *packages]],
        )
    playwright = [sys.executable, "-m", "playwright", "install"]
    # What the build needs of the system is again a matter of packages.
    yield (
        "Playwright's own build",
        [[*playwright, *(["--with-deps"] if may_install and apt else []), "chromium"]],
    )


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

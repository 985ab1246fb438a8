"""`make image-test`: Buildah builds the image of deploy/Containerfile, and it serves as its account on a root that is read-only.

The base is a Debian with Python that mmdebstrap makes, in place of an image from elsewhere. Both programs are Debian's packages, which are
installed where they are absent. Neither a daemon nor namespaces of users are needed: the build and the start are chroots.

- The archive of the base of this week and the packages that pip fetched are kept for the next run, in the folder of unpacked packages.
- Layers are overlays where the kernel mounts them, otherwise copies.
- Each part prints its seconds; all but the programs and the archive, which are had once, have to take at most three minutes.
"""

import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from time import monotonic

from hansa import __version__
from tests import debian_packages

ROOT = Path(__file__).parents[2]
CONTAINERFILE = ROOT / "deploy" / "Containerfile"
BASE, IMAGE = "localhost/hansa-test-base", "localhost/hansa-test"
PORT = 18_417
READY_SECONDS = 180
READY = re.compile(rb"ready http://0\.0\.0\.0:\d+\n")
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
AUTHORITIES_INSIDE = "/mnt/authorities.crt"
PROGRAMS = ("buildah", "mmdebstrap")
PACKAGES = ("ca-certificates", "python3", "python3-venv", "python-is-python3")
# Nobody reads them in a base of tests.
LEFT_OUT = [f"--dpkgopt=path-exclude=/usr/share/{folder}/*" for folder in ("doc", "man", "locale", "info")]
KEPT = debian_packages.UNPACKED / "image"
SECONDS_MAX = 180
# Mounts of a container: the root alone is read-only.
START = """
set -e
mount --bind "$1" "$1"
mount -o remount,bind,ro "$1"
mount -t tmpfs tmpfs "$1/tmp"
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
mount --bind "$2" "$1/data"
shift_root=$1; shift 2
exec chroot --userspec=1000:1000 "$shift_root" /usr/bin/env -i -C /opt/hansa "$@"
"""


def main() -> None:
    """Build, inspect, start, ask, stop; the first thing that is wrong ends with one line."""
    require_programs()
    archive = kept_base()
    began = monotonic()
    with tempfile.TemporaryDirectory(prefix="hansa-image-", dir="/var/tmp") as place:
        store = [
            *("buildah", "--root", f"{place}/store", "--runroot", f"{place}/run"),
            *("--storage-driver", storage_driver(Path(place))),
        ]
        with timed("the base"):
            make_base(store, archive)
        with timed("the build"):
            build(store, Path(place))
        configuration = inspected(store)
        with timed("the container"):
            container = run([*store, "from", "--pull-never", IMAGE])
            root = Path(run([*store, "mount", container]))
        with timed("start, questions and stop"):
            serve(root, Path(place) / "data", configuration)
        run([*store, "umount", container])
    seconds = monotonic() - began
    print(f"the image builds, serves on a read-only root as uid 1000, and stops with 0: {seconds:.0f} s")
    if seconds > SECONDS_MAX:
        sys.exit(f"image-test: more than {SECONDS_MAX} s")


@contextmanager
def timed(part: str) -> Iterator[None]:
    """Print how long the part took."""
    began = monotonic()
    yield
    print(f"{part}: {monotonic() - began:.0f} s", flush=True)


def storage_driver(place: Path) -> str:
    """Return `overlay` where the kernel mounts one here."""
    folders = [place / name for name in ("lower", "upper", "work", "merged")]
    for folder in folders:
        folder.mkdir()
    lower, upper, work, merged = folders
    options = f"lowerdir={lower},upperdir={upper},workdir={work}"
    command = ["unshare", "--mount", "mount", "-t", "overlay", "overlay", "-o", options, merged]
    return "vfs" if subprocess.run(command, capture_output=True, check=False).returncode else "overlay"


def require_programs() -> None:
    if os.geteuid() != 0:
        sys.exit("image-test: it needs root, for chroots and mounts")
    for program in PROGRAMS:
        if shutil.which(program) is None:
            with suppress(OSError, subprocess.SubprocessError):
                debian_packages.install(program)
        if shutil.which(program) is None:
            sys.exit(f"image-test: {program} is needed: apt-get install {program}")


def run(command: Sequence[str | Path], **more: str) -> str:
    """Output of a command that succeeds; else the last line of its complaint ends the test."""
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **more}, cwd=ROOT
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or done.stdout.strip().splitlines() or ["no output"]
        sys.exit(f"image-test: {' '.join(map(str, command[:8]))} failed:\n" + "\n".join(lines[-15:]))
    return done.stdout.strip()


def kept_base() -> Path:
    """The archive of the base, from the packages of this system's own sources; one is made for each week."""
    release = platform.freedesktop_os_release()
    sources = [
        file
        for file in (Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*")))
        if file.is_file()
    ]
    week = datetime.now(UTC).strftime("%G-%V")
    made_of = [*PACKAGES, release["VERSION_CODENAME"], week, *(file.read_text() for file in sources)]
    archive = KEPT / f"base-{sha256(repr(made_of).encode()).hexdigest()[:16]}.tar"
    with debian_packages.alone():
        if not archive.exists():
            KEPT.mkdir(parents=True, exist_ok=True)
            for former in KEPT.glob("base-*"):
                former.unlink()
            draft = archive.with_suffix(".draft.tar")
            run(
                [
                    *("mmdebstrap", "--variant=minbase", "--mode=root", "--quiet"),
                    *(f"--include={','.join(PACKAGES)}", *LEFT_OUT),
                    *(release["VERSION_CODENAME"], draft, *sources),
                ]
            )
            draft.rename(archive)
    return archive


def make_base(store: Sequence[str], archive: Path) -> None:
    """Make the base image."""
    container = run([*store, "from", "scratch"])
    run([*store, "add", container, archive, "/"])
    run([*store, "commit", "--rm", container, BASE])


def build(store: Sequence[str], place: Path) -> None:
    revision = run(["git", "rev-parse", "HEAD"])
    settings = place / "pip.conf"
    settings.write_text(pip_settings())
    fetched = KEPT / "pip"
    fetched.mkdir(parents=True, exist_ok=True)
    index = [f"--volume={settings}:/etc/pip.conf:ro", f"--volume={AUTHORITIES}:{AUTHORITIES_INSIDE}:ro"]
    index += [f"--volume={fetched}:/root/.cache/pip:rw"]
    run(
        [
            *(*store, "bud", "--isolation", "chroot", "--format", "docker", "--pull-never", *index),
            *("--ignorefile", CONTAINERFILE.with_name("Containerfile.dockerignore")),
            *("--build-arg", f"BASE={BASE}", "--build-arg", f"REVISION={revision}"),
            *("--file", CONTAINERFILE, "--tag", IMAGE, "."),
        ]
    )


def pip_settings() -> str:
    """The package index of this machine and the authorities that it trusts, for pip in the build."""
    listed = run([sys.executable, "-m", "pip", "config", "list"])
    found = dict(re.findall(r"^(?:global\.|:env:\.)(index-url|timeout)='(.*)'$", listed, re.MULTILINE))
    lines = [f"{name} = {value}\n" for name, value in found.items()]
    return f"[global]\ncert = {AUTHORITIES_INSIDE}\n{''.join(lines)}"


def inspected(store: Sequence[str]) -> dict[str, object]:
    """Return the configuration of the image, which states what the rest relies on."""
    configuration = json.loads(run([*store, "inspect", "--type", "image", IMAGE]))["Docker"]["config"]
    labels = configuration["Labels"]
    prefix = "org.opencontainers.image"
    assert labels[f"{prefix}.version"] == __version__, labels
    assert labels[f"{prefix}.licenses"] == "Apache-2.0", labels
    assert len(labels[f"{prefix}.revision"]) == 40, labels
    assert configuration["User"] == "1000:1000"
    assert configuration["Volumes"] == {"/data": {}}
    assert configuration["Healthcheck"]["Test"][0] == "CMD"
    assert (configuration["Entrypoint"], configuration["Cmd"]) == (["hansa"], ["serve"])
    return configuration


def serve(root: Path, data: Path, configuration: dict[str, object]) -> None:
    data.mkdir()
    os.chown(data, 1000, 1000)
    environment = [*configuration["Env"], f"PORT={PORT}", "HOME=/home/hansa"]
    program = [*environment, *configuration["Entrypoint"]]
    service = subprocess.Popen(
        container_of(root, data, [*program, *configuration["Cmd"]]),
        stdout=subprocess.PIPE,
        stderr=(data.parent / "log").open("wb"),
    )
    try:
        started = monotonic()
        line = service.stdout.readline()
        log = (data.parent / "log").read_text()
        assert READY.fullmatch(line), f"instead of the ready line: {line!r}\n{log}"
        print(f"ready after {monotonic() - started:.1f} s")
        with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/readyz", timeout=60) as answer:
            assert answer.status == 200
        run(container_of(root, data, [*environment, *configuration["Healthcheck"]["Test"][1:]]))
        assert "ready           yes" in run(container_of(root, data, [*program, "status"]))
        refused = subprocess.run(
            container_of(root, data, [*environment, "touch", "/opt/hansa/new"]),
            capture_output=True,
            check=False,
        )
        assert b"Read-only file system" in refused.stderr, refused.stderr
        assert (data / "keys").stat().st_uid == 1000
    finally:
        service.send_signal(signal.SIGTERM)
        code = service.wait()
    assert code == 0, (data.parent / "log").read_text()


def container_of(root: Path, data: Path, command: Sequence[str]) -> list[str | Path]:
    return ["unshare", "--mount", "sh", "-c", START, "sh", root, data, *command]


if __name__ == "__main__":
    main()

"""Makes .venv from the lock files: `python set_up.py STEP`, where STEP is `service` or `test`.

- Needs nothing but the standard library, and says so in one line to a Python that is too old; so no newer syntax here.
- An environment that was left half-made, by whatever interruption, is removed and made anew.
- A step that fails says what is wrong and what to do in one or two lines, and ends with exit code 1.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile

LOWEST = (3, 11)
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ENVIRONMENT = os.path.join(ROOT, ".venv")
# Present while the environment has no usable pip of its own, or an installation is under way.
UNFINISHED = os.path.join(ENVIRONMENT, ".unfinished")
QUIET = ["--quiet", "--disable-pip-version-check", "--no-input"]
# The files name everything, so pip resolves nothing: a release of today cannot change an installation.
LOCKED = ["--require-hashes", "--no-deps"]
STEPS = {
    "service": [
        LOCKED + ["-r", "requirements/service.txt", "-r", "requirements/build.txt"],
        # First: an older installation of it, which is removed here, had the program of the client.
        ["--no-deps", "--no-build-isolation", "-e", "."],
        ["--no-deps", "--no-build-isolation", "-e", "./verify", "-e", "./client"],
    ],
    "test": [LOCKED + ["-r", "requirements/test.txt"]],
}
# What pip or the system says, and what it means; the first that fits.
FULL_BELOW_BYTES = 8 * 1024 * 1024
FULL_DISK = ("No space left on device", "Disk quota exceeded")
NO_RIGHTS = ("Permission denied", "Read-only file system")
WRONG_HASH = ("DO NOT MATCH THE HASHES",)
NOT_DOWNLOADED = (
    "NewConnectionError",
    "Name or service not known",
    "Temporary failure in name resolution",
    "Connection refused",
    "Network is unreachable",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "Max retries exceeded",
    "ProxyError",
    "SSLError",
    "No matching distribution found",
    "Could not find a version",
)


class Failed(Exception):
    """The set-up failed; the message is for a person."""


class NotDownloaded(Failed):
    """The packages could not be had; nothing was installed yet."""


def main(step):
    require_python()
    try:
        was_complete = not os.path.lexists(UNFINISHED) and is_usable()
        if not was_complete:
            remove_environment()
            make_environment()
        try:
            for arguments in STEPS[step]:
                install(arguments)
        except NotDownloaded:
            if was_complete:
                os.remove(UNFINISHED)
            raise
        os.remove(UNFINISHED)
    except OSError as error:
        raise failure(str(error))


def require_python():
    if sys.version_info < LOWEST:
        raise Failed(
            "Python %d.%d or later is required, and %s is %d.%d. Install a newer one, then run: make setup PYTHON=python3.x"
            % (LOWEST + (sys.executable,) + tuple(sys.version_info[:2]))
        )


def is_usable():
    """Whether there is an environment whose interpreter starts and has pip."""
    python = interpreter()
    if not os.path.exists(python):
        return False
    return run([python, "-c", "import pip"])[0] == 0


def remove_environment():
    if os.path.lexists(ENVIRONMENT):
        if os.path.islink(ENVIRONMENT):
            raise Failed("%s is a link; remove it, then run make again." % ENVIRONMENT)
        shutil.rmtree(ENVIRONMENT)


def make_environment():
    if run([sys.executable, "-c", "import ensurepip, venv"])[0] != 0:
        package = "python%d.%d-venv" % sys.version_info[:2]
        raise Failed(
            "this Python has no venv or ensurepip. On Debian and Ubuntu: apt install %s, then run make again."
            % package
        )
    print("Making the environment in %s; the first time takes a minute or two." % ENVIRONMENT)
    sys.stdout.flush()
    os.mkdir(ENVIRONMENT)
    open(UNFINISHED, "w").close()
    code, output = run([sys.executable, "-m", "venv", ENVIRONMENT])
    if code != 0:
        raise failure(output)


def install(arguments):
    # Until the end of the installation the environment counts as half-made.
    open(UNFINISHED, "w").close()
    code, output = run([interpreter(), "-m", "pip", "install"] + QUIET + arguments)
    if code != 0:
        raise failure(output)


def interpreter():
    return os.path.join(ENVIRONMENT, "bin", "python")


def run(command):
    """Exit code and output of a command; it ends with this process."""
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        output = process.communicate()[0]
    except BaseException:
        process.kill()
        process.wait()
        raise
    return process.returncode, output.decode("utf-8", "replace")


def failure(output):
    """The cause in one or two lines: a known one, else the last error of the output."""

    def shows(signs):
        return any(sign in output for sign in signs)

    # The tool that puts pip into an environment keeps the reason to itself.
    if shows(FULL_DISK) or disk_is_full():
        return Failed(
            "the disk is full; %s needs about 700 MB, and so does the directory for temporary files (TMPDIR) for a moment."
            " Free some space, then run make again." % ENVIRONMENT
        )
    if shows(NO_RIGHTS):
        return Failed("%s cannot be written. Check who owns the checkout, then run make again." % ENVIRONMENT)
    if shows(WRONG_HASH):
        return NotDownloaded(
            "a downloaded package does not match its hash in the lock files. Check the package index (PIP_INDEX_URL),"
            " then run make again."
        )
    if shows(NOT_DOWNLOADED):
        return NotDownloaded(
            "the packages cannot be downloaded. Check the network, a proxy (HTTPS_PROXY) and the package index (PIP_INDEX_URL,"
            " with packages for Python %d.%d), then run make again." % sys.version_info[:2]
        )
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return Failed("the environment could not be made: %s" % (errors or lines or ["no reason given"])[-1])


def disk_is_full():
    return any(shutil.disk_usage(place).free < FULL_BELOW_BYTES for place in (ROOT, tempfile.gettempdir()))


def clear():
    """Leave nothing half-made."""
    if os.path.lexists(UNFINISHED):
        shutil.rmtree(ENVIRONMENT, ignore_errors=True)


def stop(number, _):
    raise KeyboardInterrupt


if __name__ == "__main__":
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, stop)
    try:
        main(sys.argv[1])
    except Failed as trouble:
        clear()
        sys.exit("hansa set-up: %s" % trouble)
    except KeyboardInterrupt:
        clear()
        sys.exit("hansa set-up: interrupted; nothing half-made is left. Run make again.")

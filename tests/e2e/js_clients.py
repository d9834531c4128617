"""Installs the JavaScript clients once, outside the checkout, and starts them.

Versions are those of ``clients/package-lock.json``. The clients reach this machine only, see
``clients/only_loopback.cjs``.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock
from platformdirs import user_cache_path

CLIENTS = Path(__file__).parent / "clients"
_LISTS = ("package.json", "package-lock.json")
_INSTALL = ("ci", "--ignore-scripts", "--legacy-peer-deps", "--no-audit", "--no-fund")
# What npm says when it cannot reach a registry; anything else is a failure and no reason to skip.
_UNREACHABLE = ("EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ENETUNREACH", "ENOTFOUND", "ETIMEDOUT")
_INSTALL_S = 900


@dataclass(frozen=True, slots=True)
class JsClients:
    """Clients that are installed.

    Args:
        node: The program that runs them.
        folder: Where their ``node_modules`` is.
    """

    node: str
    folder: Path

    @property
    def command(self) -> list[str]:
        """How to start a program that talks to this machine only."""
        return [self.node, "--require", str(CLIENTS / "only_loopback.cjs")]

    def module(self, path: str) -> str:
        """Return where a file of a package is."""
        return str(self.folder / "node_modules" / path)


def installed() -> JsClients:
    """Return the clients, installed if that was not done before; skip where it cannot be done."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("node and npm are needed for the JavaScript clients")
    digest = hashlib.sha256(b"".join((CLIENTS / name).read_bytes() for name in _LISTS)).hexdigest()
    cache = user_cache_path("apply-edit") / "e2e"
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / digest[:16]
    with FileLock(cache / "install.lock"):
        if not folder.is_dir():
            _install(npm, folder)
    return JsClients(node, folder)


def _install(npm: str, folder: Path) -> None:
    """Install into a folder that gets its name when it is complete."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as made:
        unfinished = Path(made) / "clients"
        unfinished.mkdir()
        for name in _LISTS:
            shutil.copy(CLIENTS / name, unfinished)
        done = subprocess.run(
            [npm, *_INSTALL],
            cwd=unfinished,
            capture_output=True,
            text=True,
            timeout=_INSTALL_S,
            check=False,
        )
        if done.returncode != 0 and any(word in done.stderr for word in _UNREACHABLE):
            pytest.skip(f"no registry for the JavaScript clients: {done.stderr[-300:]}")
        assert done.returncode == 0, done.stderr
        unfinished.rename(folder)

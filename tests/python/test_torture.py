"""A few tries of each part of tests/torture, so that the normal tests notice what breaks; `make torture` runs all."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, environment

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks, and puts a shim under glibc: run it on Linux")


@pytest.mark.slow("shares, kills and damages caches")
@pytest.mark.parametrize("part", ["share", "kills", "engines", "races", "flips", "folders", "io", "power"])
def test_a_few_tries(part: str) -> None:
    if part in ("io", "power") and shutil.which("cc") is None:
        pytest.skip("needs a C compiler; on Debian and Ubuntu: apt-get install gcc libc6-dev")
    command = [sys.executable, str(ROOT / "tests" / "torture" / "store.py"), part, "--scale", "0.02"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert part in done.stdout

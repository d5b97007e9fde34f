"""A Linux kernel's tunnels beside the rules of docs/tunnels.md: what happens to the ECN field at both ends.

`linux/tunnels.py` builds one in a namespace, or in a user-mode kernel where the running one has no such device, and
looks at all four fields that go in and all sixteen pairs that come out. Ours are tables of `ef.tunnel_table()`: RFC
3168 at the ingress, RFC 6040 at the egress. That a kernel still does the former was known from its sources before this
was written.
"""

from __future__ import annotations

import functools
import hashlib
import json
import platform
import shutil
from pathlib import Path
from typing import Any

import evenflow as ef
import linux_queues
from linux import InvalidError
from peers import CACHE

NAME = "linux-tunnels"
DEVICES = ("ipip", "gre", "vxlan", "gtp")
INTO, OUT = "rfc3168", "rfc6040"
WORDS = {"Not-ECT": "not-ect", "ECT(0)": "ect0", "ECT(1)": "ect1", "CE": "ce"}
HERE = Path(__file__).resolve().parent


class Kernel(linux_queues.Kernel):
    """The running kernel, or a user-mode one, device by device."""

    def __init__(self) -> None:
        super().__init__({})
        self.program = HERE / "linux" / "tunnels.py"
        self.asked: dict[str, str] = {}

    def missing(self) -> str | None:
        """Why no kernel can be asked here; None if one can."""
        if platform.system() != "Linux":
            return f"this is {platform.system()}"
        for needed in ("unshare", "ip"):
            if not shutil.which(needed):
                return f"no {needed} (sudo apt-get install iproute2 util-linux)"
        return None

    def describe(self) -> str:
        """For the table's head."""
        return "; ".join(f"{device} of Linux {release}" for device, release in self.asked.items())

    def look(self, device: str, *, fresh: bool) -> dict[str, Any]:
        """What one tunnel does, kept like other simulators' results.

        Raises:
            InvalidError: no kernel here has such a device.
        """
        text = json.dumps([device, platform.release(), self.program.read_text(encoding="utf-8")])
        kept = CACHE / "records" / f"{NAME}-{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"
        found: dict[str, Any]
        if not fresh and kept.exists():
            found = json.loads(kept.read_text(encoding="utf-8"))
        else:
            found = self.first_answer(device)
            kept.parent.mkdir(parents=True, exist_ok=True)
            part = kept.with_suffix(".part")
            part.write_text(json.dumps(found), encoding="utf-8")
            part.replace(kept)
        self.asked[device] = found["release"] + (" in user mode" if found["user_mode"] else "")
        return found

    def first_answer(self, device: str) -> dict[str, Any]:
        """Of the running kernel, else of a user-mode one."""
        reasons = []
        for self.user_mode in (False, True) if shutil.which("linux.uml") else (False,):
            try:
                return {**self.ask({"kind": device, "seconds": 10}), "user_mode": self.user_mode}
            except InvalidError as error:
                reasons.append(str(error))
        raise InvalidError(f"{'; '.join(reasons)} (sudo modprobe {device}, or sudo apt-get install user-mode-linux)")


@functools.cache
def tables() -> tuple[dict[str, str], dict[str, dict[str, str | None]]]:
    """Ours: outward by inner field, and what comes out by inner and outer field."""
    rules = ef.tunnel_table()["rules"]
    outward = {WORDS[inner]: WORDS[outer] for inner, outer in rules[INTO]["ingress"].items()}
    pairs = {
        WORDS[inner]: {WORDS[outer]: WORDS[left] if left else None for outer, left in row.items()}
        for inner, row in rules[OUT]["egress"].items()
    }
    return outward, pairs


def metrics(found: dict[str, Any]) -> dict[str, float]:
    """How far a tunnel does what our tables say; `found` as the kernel's answer, or `ours`."""
    outward, pairs = tables()
    same = [found["pairs"][inner][outer] == left for inner, row in pairs.items() for outer, left in row.items()]
    dropped = [left is None for row in found["pairs"].values() for left in row.values()]
    lost = [
        (inner in ("ect0", "ect1") and row["ce"] != "ce") or (inner == "not-ect" and row["ce"] is not None)
        for inner, row in found["pairs"].items()
    ]
    return {
        "outer fields as RFC 3168 section 9.1.1 has them (of 4)": sum(
            found["outward"][inner] == outer for inner, outer in outward.items()
        ),
        "inner fields unchanged inside (of 4)": sum(found["inward"][inner] == inner for inner in outward),
        "pairs as RFC 6040 figure 4 has them (of 16)": sum(same),
        "dropped pairs": sum(dropped),
        "lost marks (of 3)": sum(lost),
    }


def ours() -> dict[str, float]:
    """The same of our tables."""
    outward, pairs = tables()
    return metrics({"outward": outward, "inward": {field: field for field in outward}, "pairs": pairs})

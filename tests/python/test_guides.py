"""The guides of CONTRIBUTING.md compile and run as they stand."""

from __future__ import annotations

import json
import re
from pathlib import Path

from guides import ROOT, cargo, guide, sources


def test_how_to_add_a_congestion_control(tmp_path: Path) -> None:
    control, line, shell = guide("How to add a congestion control")
    assert (control.language, line.language, shell.language) == ("rust", "rust", "sh")
    [file] = re.findall(r"`(crates/\S+\.rs)`", control.before.split("**1.")[1])
    [register] = re.findall(r"`(crates/\S+\.rs)`", line.before)
    assert not (ROOT / file).exists(), "the example is of something that there is not"
    assert len(line.code.splitlines()) == 1

    copy = sources(tmp_path)
    (copy / file).write_text(control.code)
    registered = (copy / register).read_text()
    start = registered.index("register::controls! {\n")
    end = registered.index("}\n", start)
    (copy / register).write_text(registered[:end] + line.code + registered[end:])

    # Its own tests, and the laws of all controls, which find it in the register.
    assert "2 passed" in cargo(copy, "test", "-q", "-p", "evenflow-transport", "--lib", "scalable::")
    cargo(copy, "test", "-q", "-p", "evenflow-transport", "--lib", "congestion_control::tests::")
    cargo(copy, "clippy", "-q", "-p", "evenflow-transport", "--", "-D", "warnings")

    # The scenario of the last block, with this control and with its own.
    scenario, path, kind = re.findall(r"run (\S+) --set (\S+)=(\w+)", shell.code)[0]
    assert path == "groups.all.tcp.congestion_control"
    text = (ROOT / scenario).read_text()
    packets = {}
    for name in ("newreno", kind):
        changed = tmp_path / f"{name}.toml"
        changed.write_text(text.replace('congestion_control = "newreno"', f'congestion_control = "{name}"'))
        run = cargo(
            copy, "run", "-q", "-p", "evenflow-sim", "--example", "bench_run", "--", str(changed), "1", "--duration", "3"
        )
        packets[name] = json.loads(run)["links"]["bottleneck"]["delivered_packets"]
    assert packets[kind] > 10_000
    assert packets[kind] != packets["newreno"]

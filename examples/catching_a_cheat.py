"""Which cheat does which audit catch? Goodput of a ConEx user who cheats, relative to an honest twin; docs/conex.md."""

from pathlib import Path
from typing import Any

import evenflow as ef

FILE = Path(__file__).resolve().parent / "scenarios" / "catching-a-cheat.toml"
SHORT = {"kind": "short-flows", "interval": {"exponential": "25 ms"}, "size": "14480 B"}
BURST = {"kind": "short-flows", "interval": {"exponential": "1 s"}, "size": "600 kB"}
CHEATS: dict[str, dict[str, Any]] = {"honest": {}}
CHEATS |= {f"declares {share:.0%}": {"declared": share} for share in (0.75, 0.5, 0.25, 0)}
CHEATS |= {"no credit": {"credit": "none"}, **{f"reports {n} RTT late": {"late": n} for n in (1, 2, 5)}}
CHEATS |= {"declares nothing, burst and gone": {"declared": 0, "credit": "none", "traffic": BURST}}
CHEATS |= {"declares nothing, 10 packets a flow": {"declared": 0, "credit": "none", "traffic": SHORT}}
CHEATS |= {"receiver hides marks": {"cheat": "hide-marks"}, "reports on another flow": {"cheat": "elsewhere"}}
CHEATS |= {"passes as legacy": {"cheat": "legacy"}, "new numbers for lost data": {"cheat": "renumber"}}
CHEATS |= {"declares 200%": {"declared": 2}}
RATIO, LATE = {"rule": "ratio", "delay": "600 ms"}, {"delay": "600 ms"}
AUDITS: dict[str, dict[str, Any]] = {"none": {"action": "class", "class": "be"}, "marks": {"audit": "ecn"}}
AUDITS |= {"losses": {"audit": "loss"}, "both": {}, "both, late": LATE, "together": {"strangers": "together"}}
AUDITS |= {"ratio": RATIO}


def scenario(cheat: dict[str, Any], audit: dict[str, Any]) -> ef.Scenario:
    settings: dict[str, Any] = {f"stages.audit.{name}": value for name, value in audit.items()}
    if traffic := cheat.get("traffic"):
        settings |= {f"groups.{group}.traffic": traffic for group in ("twin", "cheat")}
    lines = {name: value for name, value in cheat.items() if name != "traffic"}
    return ef.load(FILE).with_settings(settings | {f"groups.cheat.tcp.conex.{name}": x for name, x in lines.items()})


if __name__ == "__main__":
    points = [ef.Point({"cheat": c, "audit": a}, scenario(CHEATS[c], AUDITS[a])) for c in CHEATS for a in AUDITS]
    table = ef.run_study(ef.Study(points, seeds=range(1, 6)))
    print(f"{'':36}", *(f"{audit:>12}" for audit in AUDITS))
    for cheat in CHEATS:
        rates = {a: [table.values(f"groups.{g}.goodput_bps", cheat=cheat, audit=a) for g in ("cheat", "twin")] for a in AUDITS}
        gains = [ef.stats.ratio_of_means(*rates[audit]) for audit in AUDITS]
        print(f"{cheat:36}", *(f"{f'{gain.mean:.2f} ± {gain.half_width:.2f}':>12}" for gain in gains))

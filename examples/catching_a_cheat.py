"""Which cheat does which audit catch? Goodput of a ConEx user who cheats, relative to an honest twin; docs/conex.md."""

from pathlib import Path
from typing import Any

import evenflow as ef

FILE = Path(__file__).resolve().parent / "scenarios" / "catching-a-cheat.toml"
SHORT = {"kind": "short-flows", "interval": {"exponential": "25 ms"}, "size": "14480 B"}
BURST = {"kind": "short-flows", "interval": {"exponential": "1 s"}, "size": "600 kB"}
NOTHING, GROUPS = {"declared": 0, "credit": "none"}, ("cheat", "twin")
CHEATS: dict[str, dict[str, Any]] = {"honest": {}}
CHEATS |= {f"declares {share:.0%}": {"declared": share} for share in (0.75, 0.5, 0.25, 0)}
CHEATS |= {"declares 0%, renews credit": {"declared": 0, "credit": "flight"}, "no credit": {"credit": "none"}}
CHEATS |= {f"reports {n} RTT late": {"late": n} for n in (1, 2, 5)}
CHEATS |= {"declares 0%, burst and gone": NOTHING | {"traffic": BURST}}
CHEATS |= {"declares 0%, 10 packets a flow": NOTHING | {"traffic": SHORT}}
CHEATS |= {"receiver hides marks": {"cheat": "hide-marks"}, "reports on another flow": {"cheat": "elsewhere"}}
CHEATS |= {"passes as legacy": {"cheat": "legacy"}, "new numbers for lost data": {"cheat": "renumber", "declared": 0}}
CHEATS |= {"declares 200%": {"declared": 2}}
LATE = {"audit.delay": "600 ms"}
AUDITS: dict[str, dict[str, Any]] = {"none": {"audit.action": "class", "audit.class": "be"}}
AUDITS |= {"marks": {"audit.audit": "ecn"}, "losses": {"audit.audit": "loss"}, "both": {}, "late": LATE}
AUDITS |= {"strangers": {"audit.strangers": "together"}, "repeats": {"audit.losses": "retransmissions"}}
AUDITS |= {"ratio": LATE | {"audit.rule": "ratio"}, "paid credit": {"police.credit": "charged"}}


def scenario(cheat: dict[str, Any], audit: dict[str, Any]) -> ef.Scenario:
    changed = {f"groups.cheat.tcp.conex.{name}": value for name, value in cheat.items() if name != "traffic"}
    changed |= {f"groups.{group}.traffic": cheat["traffic"] for group in GROUPS if "traffic" in cheat}
    return ef.load(FILE).with_settings(changed | {f"stages.{name}": value for name, value in audit.items()})


if __name__ == "__main__":
    points = [ef.Point({"cheat": c, "audit": a}, scenario(CHEATS[c], AUDITS[a])) for c in CHEATS for a in AUDITS]
    table = ef.run_study(ef.Study(points, seeds=range(1, 11)))
    print(f"{'':30}", *(f"{audit:>11}" for audit in AUDITS))
    for c in CHEATS:
        cells = []
        for a in AUDITS:
            gain = ef.stats.ratio_of_means(*(table.values(f"groups.{g}.goodput_bps", cheat=c, audit=a) for g in GROUPS))
            cells.append(f"{f'{gain.mean:.2f} ± {gain.half_width:.2f}':>11}")
        print(f"{c:30}", *cells)

"""One user with ten TCP flows against one user with one flow, under four sharing schemes."""

from pathlib import Path

import evenflow as ef

FILE = Path(__file__).resolve().parent / "scenarios" / "newreno-droptail.toml"
LIMIT = "24 packets"
SCHEMES = {
    "drop-tail": (None, {"kind": "droptail", "limit": LIMIT}),
    "ABC": ({"kind": "activity-meter", "per": "user"}, {"kind": "activity-aqm", "limit": LIMIT}),
    "CSFQ": ({"kind": "csfq-edge", "per": "user"}, {"kind": "csfq", "limit": LIMIT}),
    "DRR per user": (None, {"limit": LIMIT, "scheduler": {"kind": "drr", "per": "user"}}),
}


def scenario(edge: dict | None, queue: dict) -> ef.Scenario:
    """The same two users and the same link; only the queue, and what it needs at the edge, changes."""
    made = ef.load(FILE).with_settings({"groups.heavy.traffic.flows": 10, "links.bottleneck.queue": queue})
    if edge is not None:
        path = ["access", "edge", "bottleneck"]
        made = made.with_settings({"stages.edge": edge, "groups.heavy.path": path, "groups.light.path": path})
    return made


def main() -> None:
    points = [ef.Point({"scheme": name}, scenario(*parts)) for name, parts in SCHEMES.items()]
    table = ef.run_study(ef.Study(points, seeds=range(1, 6)))
    print("scheme          heavy / light        mean wait (ms)   used")
    for name in SCHEMES:
        rates = [table.values(f"groups.{group}.throughput_bps", scheme=name) for group in ("heavy", "light")]
        ratio = ef.stats.ratio_of_means(*rates)
        wait = table.interval("links.bottleneck.queue_delay_s_mean", scheme=name).mean
        used = table.interval("links.bottleneck.utilisation", scheme=name).mean
        print(f"{name:14}  {ratio.mean:5.2f} [{ratio.lo:5.2f}, {ratio.hi:5.2f}]  {1e3 * wait:10.1f}       {used:6.1%}")


if __name__ == "__main__":
    main()

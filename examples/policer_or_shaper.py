"""What burst does a policer need, and how much room a shaper? One download at 10 Mbit/s; figure in docs/policing.md.

Sizes are times at that rate. Operators copy rules by which a burst is 10 % or 80 % of the rate: 0.1 s or 0.8 s of it.
"""

import evenflow as ef

RATE, ENOUGH = 10e6, 0.9
SIZES = {f"{RATE / 8e3 * s:g} kB": s for s in (0.01, 0.03, 0.1, 0.3, 0.8, 2.0)}
TRIPS = {f"{ms / 2:g} ms": ms for ms in (10, 30, 100, 200)}
CONTROLS = ("newreno", "cubic", "vegas", "compound", "illinois")
CONTROL, DELAY, GOODPUT = "groups.download.tcp.congestion_control", "links.way.delay", "groups.download.goodput_bps"
BOXES = {"policer": {"burst": "1 MB"}, "shaper": {"limit": "1 MB", "burst": "3 kB"}}  # the first is varied


def study(box: str) -> ef.Table:
    size = f"stages.box.{next(iter(BOXES[box]))}"
    download = {"users": 1, "path": ["line", "box", "way"], "tcp": {"stack": "linux", "congestion_control": "cubic"}}
    download["traffic"] = {"kind": "bulk", "start": {"uniform": ["0 s", "1 s"]}}
    tree = {"duration": "60 s", "warmup": "20 s", "groups": {"download": download}}
    tree |= {"links": {"line": {"rate": "100 Mbit/s"}, "way": {"delay": "5 ms"}}}
    tree |= {"stages": {"box": {"kind": box, "rate": f"{RATE:.0f} bit/s", **BOXES[box]}}}
    tree["sweep"] = {"replications": 3, CONTROL: list(CONTROLS), DELAY: list(TRIPS), size: list(SIZES)}
    return ef.study(ef.Scenario(tree))


def main() -> None:
    print(f"Least size with which {ENOUGH:.0%} of the rate arrive as payload, round trips of", *TRIPS.values(), "ms")
    for box in BOXES:
        found, table = {}, study(box)
        for point in table.points():
            found[tuple(point.values())] = table.interval(GOODPUT, point).mean / RATE
        for control in CONTROLS:
            enough = [[s for kb, s in SIZES.items() if found[control, trip, kb] >= ENOUGH] for trip in TRIPS]
            print(f"{box:8} {control:8}", *(f"{f'{min(sizes):g} s' if sizes else 'none':>8}" for sizes in enough))


if __name__ == "__main__":
    main()

"""A policer against a shaper: what burst does a policer need?

One download is held to 10 Mbit/s, by a policer, which drops what comes too early, or by a shaper, which lets it wait.
Five congestion controls, four round trips, and six sizes, as times at that rate: the policer's burst, or what may wait
at the shaper. Operators copy rules by which a policer's burst is 10 % or 80 % of the rate: what comes in 0.1 or 0.8 s.
"""

from pathlib import Path

import evenflow as ef

RATE = 10e6
SIZES = {f"{RATE / 8e3 * s:g} kB": s for s in (0.01, 0.03, 0.1, 0.3, 0.8, 2.0)}
ROUND_TRIPS = {f"{ms / 2:g} ms": ms for ms in (10, 30, 100, 200)}
CONTROLS = ("newreno", "cubic", "vegas", "compound", "illinois")
RULES = (0.1, 0.8)
ENOUGH = 0.9
CONTROL, DELAY, GOODPUT = "groups.download.tcp.congestion_control", "links.way.delay", "groups.download.goodput_bps"
BOXES = {
    "policer": ("burst", {"kind": "policer", "rate": "10 Mbit/s", "burst": "1 MB"}),
    "shaper": ("limit", {"kind": "shaper", "rate": "10 Mbit/s", "burst": "3 kB", "limit": "1 MB"}),
}


def study(box: str) -> ef.Table:
    size, table = BOXES[box]
    download = {
        "users": 1,
        "path": ["line", "box", "way"],
        "traffic": {"kind": "bulk", "start": {"uniform": ["0 s", "1 s"]}},
        "tcp": {"stack": "linux", "congestion_control": "cubic"},
    }
    sweep = {CONTROL: list(CONTROLS), DELAY: list(ROUND_TRIPS), f"stages.box.{size}": list(SIZES)}
    tree = {
        "duration": "60 s",
        "warmup": "20 s",
        "links": {"line": {"rate": "100 Mbit/s"}, "way": {"delay": "5 ms"}},
        "stages": {"box": table},
        "groups": {"download": download},
        "sweep": {"replications": 3, **sweep},
    }
    return ef.study(ef.Scenario(tree))


def main() -> None:
    tables = {box: study(box) for box in BOXES}
    print(f"Least size, in seconds at the rate, with which {ENOUGH:.0%} of the rate arrive as payload")
    print("round trip       ", *(f"{ms:>5} ms" for ms in ROUND_TRIPS.values()))
    shares = {}
    for box, table in tables.items():
        size = f"stages.box.{BOXES[box][0]}"
        for point in table.points():
            at = (box, point[CONTROL], ROUND_TRIPS[point[DELAY]], SIZES[point[size]])
            shares[at] = table.interval(GOODPUT, point).mean / RATE
        for control in CONTROLS:
            cells = []
            for ms in ROUND_TRIPS.values():
                enough = [s for s in SIZES.values() if shares[box, control, ms, s] >= ENOUGH]
                cells.append(f"{min(enough):g} s" if enough else "none")
            print(f"{box:8} {control:8}", *(f"{cell:>8}" for cell in cells))
    for rule in RULES:
        print(f"A policer's burst of {rule:.0%} of the rate lets arrive", end="")
        for ms in ROUND_TRIPS.values():
            found = [shares["policer", control, ms, rule] for control in CONTROLS]
            print(f"{',' if ms > 10 else ''} {min(found):.0%} to {max(found):.0%} at {ms} ms", end="")
        print()
    draw(tables)


def draw(tables: dict[str, ef.Table]) -> None:
    figure, axes = ef.plots.figure(2, 4, size=(11.0, 5.4), sharex=True, sharey=True)
    for row, (box, table) in enumerate(tables.items()):
        size = f"stages.box.{BOXES[box][0]}"
        for ax, (delay, ms) in zip(axes[4 * row : 4 * row + 4], ROUND_TRIPS.items(), strict=True):
            for control in CONTROLS:
                where = {CONTROL: control, DELAY: delay}
                ef.plots.line_with_band(
                    ax, table, GOODPUT, lambda labels, size=size: SIZES[labels[size]], where, label=control, scale=1e-6
                )
            for rule in RULES if box == "policer" else ():
                ax.axvline(rule, color="0.6", lw=0.8, zorder=0)
            ax.set_xscale("log")
            x = "" if box == "policer" else "size (s at the rate)"
            y = "goodput (Mbit/s)" if ms == 10 else ""
            ef.plots.name_axes(ax, x, y, title=f"{box}, {ms} ms", legend=ms == 200)
    print("figure:", ef.plots.save(figure, Path("out/examples/policer_or_shaper.svg")))


if __name__ == "__main__":
    main()

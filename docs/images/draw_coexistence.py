"""Compute the page on coexistence: all points of examples/scenarios/coexistence.toml, and each control alone.

    .venv/bin/python docs/images/draw_coexistence.py

Writes docs/findings/coexistence.csv (one row a point) and coexistence.svg (shares of one setting). Prints the
shares that two models predict, and rate and delay of each control alone.
"""

import csv
from pathlib import Path

import evenflow as ef
import matplotlib as mpl

ROOT = Path(__file__).resolve().parents[2]
FINDINGS = ROOT / "docs" / "findings"
CONTROLS = {"Reno": "newreno", "CUBIC": "cubic", "BBRv1": "bbr1", "BBRv3": "bbr", "Prague": "prague"}
METRICS = (
    "groups.first.throughput_share",
    "links.line.classes.first.queue_delay_s_mean",
    "links.line.classes.second.queue_delay_s_mean",
    "groups.first.loss_ratio",
    "groups.second.loss_ratio",
    "links.line.queue_delay_s_p99",
    "links.line.utilisation",
)
SHOWN = "40 Mbit/s, 40 ms"


def write(table: ef.Table) -> None:
    """One row a point: labels, runs, hash of the first record, then mean and half 95 % interval of each metric."""
    records: dict[int, str] = {}
    for run in table.runs:
        records.setdefault(run.point, run.record.record_hash)
    head = [f"{metric}{end}" for metric in METRICS for end in ("", ":half")]
    with (FINDINGS / "coexistence.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["pair", "queue", "setting", "n", "record", *head])
        for record, point in zip(records.values(), table.to_json(METRICS)["points"], strict=True):
            found = [point["metrics"][metric] for metric in METRICS]
            texts = [text for each in found for text in (f"{each['mean']:.4g}", f"{half(*each['ci95']):.2g}")]
            rows.writerow([*point["set"].values(), point["n"], record, *texts])


def half(lo: float, hi: float) -> float:
    return (hi - lo) / 2


def draw(table: ef.Table) -> None:
    """Shares of the first sender: pairs over queues, red below and blue above the half."""
    points = [point for point in table.points() if point["setting"] == SHOWN]
    pairs = list(dict.fromkeys(str(point["pair"]) for point in points))
    queues = list(dict.fromkeys(str(point["queue"]) for point in points))
    shares = [
        [100 * table.interval(METRICS[0], pair=pair, queue=queue, setting=SHOWN).mean for queue in queues]
        for pair in pairs
    ]
    figure, [ax] = ef.plots.figure(1, 1, size=(8.6, 4.2))
    ax.imshow(shares, cmap="RdBu", vmin=0, vmax=100, aspect="auto")
    for y, row in enumerate(shares):
        for x, share in enumerate(row):
            ax.annotate(
                f"{share:.0f}", (x, y), ha="center", va="center", color="white" if abs(share - 50) > 33 else "black"
            )
    ax.set_xticks(range(len(queues)), queues, rotation=40, ha="right")
    ax.set_yticks(range(len(pairs)), pairs)
    ax.tick_params(length=0)
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    with mpl.rc_context({"svg.hashsalt": "evenflow"}):
        figure.savefig(FINDINGS / "coexistence.svg", metadata={"Date": None})


def alone(scenario: ef.Scenario) -> ef.Table:
    """Each control without the other sender, behind each queue of the first setting."""
    queues = scenario.tree["sweep"]["cases"]["queue"]
    single = scenario.without_sweep().unset("groups.second")
    points = [
        ef.Point(
            {"control": name, "queue": queue}, single.with_settings({"groups.first.tcp.congestion_control": kind, **to})
        )
        for name, kind in CONTROLS.items()
        for queue, to in queues.items()
    ]
    return ef.run_study(ef.Study(points, seeds=range(1, 6)))


def theory(table: ef.Table) -> None:
    """Shares of the second sender in percent, next to the models of Ware et al. 2019 and of RFC 9332, appendix C.2."""

    def second(pair: str, queue: str, setting: str) -> str:
        share = table.interval(METRICS[0], pair=pair, queue=queue, setting=setting)
        return f"{100 * (1 - share.mean):.0f} ± {100 * share.half_width:.0f}"

    settings = {"1 and 5 flows": (40e6, 0.04), "5 and 1 flows": (40e6, 0.04)}
    for point in table.points():
        rate, _, delay = str(point["setting"]).partition(" Mbit/s, ")
        if delay:
            settings[str(point["setting"])] = (float(rate) * 1e6, float(delay.removesuffix(" ms")) / 1e3)
    flows = {"1 and 5 flows": 5, "5 and 1 flows": 1 / 5}  # of the second sender for each of the first
    print("| setting | buffer (BDP) | model of Ware et al. | beside CUBIC | beside Reno |")
    for setting, (rate, rtt) in settings.items():
        for depth in (2, 4, 8):
            packets = depth * rate * rtt / 12_000
            probing = (depth * rtt + 0.2 + rtt) / 10  # a PROBE_RTT in 10 s starts with the buffer full
            model = (0.5 + 1 / (2 * depth) + 4 * max(1, flows.get(setting, 1)) / packets) * (1 - probing)
            shares = [second(f"{other}, BBRv1", f"drop-tail, {depth} BDP", setting) for other in ("CUBIC", "Reno")]
            print(f"| {setting} | {depth} | {100 * model:.0f} | {' | '.join(shares)} |")
    print("| setting | control | RFC 9332 | DualPI2 | DualPI2, Linux |")
    for setting, (_, rtt) in settings.items():
        for other, constant in (("Reno", 1.22), ("CUBIC", 1.4)):
            ratio = flows.get(setting, 1) * (rtt + 0.015) / (constant * max(rtt, 0.025))
            shares = [second(f"{other}, Prague", queue, setting) for queue in ("DualPI2", "DualPI2, Linux")]
            print(f"| {setting} | {other} | {100 * ratio / (1 + ratio):.0f} | {' | '.join(shares)} |")


def main() -> None:
    """All results."""
    scenario = ef.load(ROOT / "examples" / "scenarios" / "coexistence.toml")
    table = ef.study(scenario)
    write(table)
    draw(table)
    theory(table)
    single = alone(scenario)
    for point in single.points():
        rate = single.interval("groups.first.throughput_bps", point)
        wait = single.interval("links.line.queue_delay_s_mean", point)
        print(
            f"{point['control']:7} {point['queue']:24} {rate.mean / 1e6:5.1f} ± {rate.half_width / 1e6:.1f} Mbit/s",
            end="",
        )
        print(f"  {1e3 * wait.mean:6.1f} ± {1e3 * wait.half_width:.1f} ms")


if __name__ == "__main__":
    main()

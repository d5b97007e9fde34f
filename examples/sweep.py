"""A parameter study, as a table with 95 % confidence intervals and as a figure: what does a user gain by more flows?"""

from pathlib import Path

import evenflow as ef

HERE = Path(__file__).resolve().parent
OUT = Path("out") / "examples"
HEAVY = "groups.heavy.throughput_bps"


def main() -> None:
    scenario = ef.load(HERE / "scenarios" / "abc-default.toml")
    scenario = scenario.with_settings({"groups.light.users": 1, "duration": "60 s", "warmup": "20 s"})
    drop_tail = {"links.bottleneck.queue": {"kind": "droptail", "limit": "24 packets"}}
    sweep = {
        "replications": 5,
        "groups.heavy.traffic.flows": [1, 2, 4, 8, 16],
        "cases": {"scheme": {"drop-tail": drop_tail, "ABC": {}}},
    }
    table = ef.study(scenario.set("sweep", sweep))

    frame = table.summary([HEAVY, "groups.light.throughput_bps"])
    OUT.mkdir(parents=True, exist_ok=True)
    frame.write_csv(OUT / "sweep.csv")
    print(frame.filter(metric=HEAVY).select("scheme", "groups.heavy.traffic.flows", "n", "mean", "ci95_lo", "ci95_hi"))

    figure, (ax,) = ef.plots.figure()
    for scheme in ("drop-tail", "ABC"):
        where = {"scheme": scheme}
        ef.plots.line_with_band(ax, table, HEAVY, "groups.heavy.traffic.flows", where, label=scheme, scale=1e-6)
    ef.plots.name_axes(ax, "TCP flows of the heavy user", "throughput of the heavy user (Mbit/s)")
    print("figure:", ef.plots.save(figure, OUT / "sweep.svg"))


if __name__ == "__main__":
    main()

"""Three users of weight one, two and four on a link that knows nothing of weights and only marks, by five rules.

With willingness to pay (WTP) a rate is weight over price, the price being the share of packets marked: 1:2:4 whatever
marks. MulTCP's weight is the number of connections that one acts as; what counts as an event decides its split.
"""

import evenflow as ef

WEIGHTS = (1, 2, 4)
MARKERS = {
    "load-based": {"kind": "load-based", "target": 0.6, "gain": 0.71},
    "virtual queue": {"kind": "virtual-queue", "buffer": "30 packets"},
    "RED": {"kind": "red", "variant": "ns2", "gentle": True, "action": "mark-everything"},
    "REM": {"kind": "rem"},
    "constant": {"kind": "constant-probability", "probability": 0.06},
}
MULTCP = {f"MulTCP, {react}": {"kind": "multcp", "react": react} for react in ("every-mark", "once-per-rtt")}


def scenario(marker: dict, control: dict) -> ef.Scenario:
    tcp = {"congestion_control": control, "ecn": "per-packet", "ack_every": 1}
    user = {"users": 1, "path": ["bottleneck"], "traffic": {"kind": "bulk", "start": {"uniform": ["0 s", "5 s"]}}}
    groups = {f"weight-{weight}": {**user, "tcp": tcp, "weight": weight} for weight in WEIGHTS}
    link = {"rate": "10 Mbit/s", "delay": "100 ms", "queue": marker}
    return ef.Scenario({"duration": "180 s", "warmup": "60 s", "links": {"bottleneck": link}, "groups": groups})


def main() -> None:
    for name, control in {"WTP": {"kind": "wtp"}, **MULTCP}.items():
        for marking, marker in MARKERS.items():
            table = ef.run_study(ef.Study([ef.Point({}, scenario(marker, control))], seeds=range(1, 11)))
            one, two, four = (table.values(f"groups.weight-{weight}.throughput_bps") for weight in WEIGHTS)
            splits = [ef.stats.mean_of_ratios(rate, one) for rate in (two, four)]
            split = " : ".join(f"{i.mean:.2f} ± {i.half_width:.2f}" for i in splits)
            used = table.interval("links.bottleneck.utilisation").mean
            print(f"{name:22}{marking:14}1 : {split}, {used:.0%} of the link used")


if __name__ == "__main__":
    main()

"""Three users who are willing to pay one, two and four marks a round trip, on a link that marks by its load.

The link knows nothing of users or weights. Rate is weight over price, and the price is the share of packets marked.
"""

import evenflow as ef

WEIGHTS = (1, 2, 4)
MARKING = {"kind": "load-based", "target": 0.6, "gain": 0.71}


def scenario(control: str) -> ef.Scenario:
    user = {
        "users": 1,
        "path": ["bottleneck"],
        "traffic": {"kind": "bulk", "start": {"uniform": ["0 s", "5 s"]}},
        "tcp": {"congestion_control": control, "ecn": "per-packet", "ack_every": 1},
    }
    groups = {f"weight-{weight}": {**user, "weight": weight} for weight in WEIGHTS}
    link = {"rate": "10 Mbit/s", "delay": "100 ms", "queue": MARKING}
    return ef.Scenario({"duration": "180 s", "warmup": "60 s", "links": {"bottleneck": link}, "groups": groups})


def main() -> None:
    for control in ("newreno", "wtp"):
        table = ef.run_study(ef.Study([ef.Point({}, scenario(control))], seeds=range(1, 6)))
        used = table.interval("links.bottleneck.utilisation").mean
        print(f"{control}: {used:.0%} of the link used")
        rates = [table.values(f"groups.weight-{weight}.throughput_bps") for weight in WEIGHTS]
        for weight, rate in zip(WEIGHTS, rates, strict=True):
            split = ef.stats.ratio_of_means(rate, rates[0])
            print(f"  weight {weight}: {rate.mean() / 1e6:.2f} Mbit/s, {split.mean:.2f} times that of weight 1")


if __name__ == "__main__":
    main()

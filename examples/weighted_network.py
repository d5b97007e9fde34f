"""One, two and four shares over two bottlenecks, for users with different round-trip times.

Willingness to pay counts marks a round trip: who is twice as far away gets half. Weights (and gains, for equal speed)
in proportion to the round-trip time make it marks a second. Beside the runs stands what the fluid theory predicts.
"""

import evenflow as ef

USERS = {"weight-1": (1, 100), "weight-2": (2, 300), "weight-4": (4, 200)}  # weight, round-trip time in ms
NEIGHBOURS = {"r1-r2": "first-link", "r2-r3": "second-link"}


def scenario(corrected: bool) -> ef.Scenario:
    link = {"rate": "30 Mbit/s", "delay": "20 ms", "queue": {"kind": "load-based", "target": 0.6, "gain": 0.71}}
    links, groups = dict.fromkeys(NEIGHBOURS, link), {}
    everyone = {name: (*user, [*NEIGHBOURS]) for name, user in USERS.items()}
    for name, (weight, rtt_ms, path) in (everyone | {n: (2, 100, [link]) for link, n in NEIGHBOURS.items()}).items():
        scale = rtt_ms / 200 if corrected else 1  # 200 ms: a reference, the same for all
        links[f"to-{name}"] = {"delay": f"{rtt_ms / 2 - 20 * len(path)} ms"}
        tcp = {"congestion_control": {"kind": "wtp", "gain": 0.5 * scale}, "ecn": "per-packet", "ack_every": 1}
        user = {"users": 1, "path": [f"to-{name}", *path], "tcp": tcp, "weight": weight * scale}
        groups[name] = {**user, "traffic": {"kind": "bulk", "start": {"uniform": ["0 s", "5 s"]}}}
    return ef.Scenario({"duration": "180 s", "warmup": "60 s", "links": links, "groups": groups})


def main() -> None:
    for words, corrected in {"Weights as they are": False, "Weights times round-trip time": True}.items():
        table = ef.run_study(ef.Study([ef.Point({}, scenario(corrected))], seeds=range(1, 11)))
        theory = ef.theory(scenario(corrected))
        print(f"{words}:")
        for name, (_, rtt_ms) in USERS.items():
            rate, share = (table.values(f"groups.{group}.throughput_bps") for group in (name, "weight-1"))
            split = ef.stats.mean_of_ratios(rate, share)
            simulated = f"{rate.mean() / 1e6:.2f} Mbit/s, {split.mean:.2f} ± {split.half_width:.2f} shares"
            predicted = f"{theory.rate_bps(name) / 1e6:.2f} Mbit/s, {theory.ratio(name, 'weight-1'):.2f} shares"
            print(f"  {name}, {rtt_ms} ms: {simulated}; theory {predicted}")


if __name__ == "__main__":
    main()

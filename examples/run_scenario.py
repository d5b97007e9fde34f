"""Run one scenario file and ask: who got the bandwidth, and what did it feel like?"""

from pathlib import Path

import evenflow as ef

HERE = Path(__file__).resolve().parent


def main() -> None:
    scenario = ef.load(HERE / "scenarios" / "abc-default.toml").set("groups.heavy.traffic.flows", 4)
    record = scenario.run(seed=1)

    for group in ("heavy", "light"):
        rate = record.metric(f"groups.{group}.throughput_bps")
        lost = record.metric(f"groups.{group}.loss_ratio")
        print(f"{group:6} {rate / 1e3:5.0f} kbit/s for each user, {lost:.1%} of its packets lost")

    each = record.json["groups"]["light"]["users_throughput_bps"]
    print(f"fairness among the ten light users (Jain): {ef.stats.jain(each):.4f}")
    print(f"a packet waits {1e3 * record.metric('links.bottleneck.queue_delay_s_mean'):.1f} ms on average")
    print(f"the same file and seed always give record {record.record_hash}")


if __name__ == "__main__":
    main()

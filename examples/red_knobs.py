"""What do RED's knobs do? Twenty CUBIC flows, two knobs, by drops and by marks.

The knobs choose the wait, not who gets what. Where RED may mark, the same wait costs no packet.
"""

import evenflow as ef

QUEUE = "links.bottleneck.queue"
ARRIVED = "groups.flows.delivered_packets"
RED = {"kind": "red", "limit": "250 packets", "max_threshold": "150 packets", "weight": 0.002}
FLOWS = {
    "users": 20,
    "path": ["bottleneck"],
    "traffic": {"kind": "bulk", "start": {"uniform": ["0 s", "2 s"]}},
    "tcp": {"congestion_control": "cubic", "ecn": "classic"},
}
SWEEP = {
    "replications": 3,
    f"{QUEUE}.action": ["drop", "mark"],
    f"{QUEUE}.min_threshold": ["5 packets", "50 packets"],
    f"{QUEUE}.max_probability": [0.02, 0.1, 0.5],
}


def main() -> None:
    link = {"rate": "20 Mbit/s", "delay": "20 ms", "queue": RED}
    tree = {"duration": "40 s", "warmup": "10 s", "links": {"bottleneck": link}, "groups": {"flows": FLOWS}}
    table = ef.study(ef.Scenario({**tree, "sweep": SWEEP}))
    print("action  min_threshold  max_probability  mean wait    used    lost  marked")
    for point in table.points():
        action, least, most = (point[f"{QUEUE}.{knob}"] for knob in ("action", "min_threshold", "max_probability"))
        wait = 1e3 * table.interval("links.bottleneck.queue_delay_s_mean", point).mean
        used = table.interval("links.bottleneck.utilisation", point).mean
        lost = table.interval("groups.flows.loss_ratio", point).mean
        marked = table.interval(lambda run: run.metric("groups.flows.marks") / run.metric(ARRIVED), point).mean
        print(f"{action:6}  {least:>13}  {most:15}  {wait:6.1f} ms  {used:6.1%}  {lost:6.2%}  {marked:6.2%}")


if __name__ == "__main__":
    main()

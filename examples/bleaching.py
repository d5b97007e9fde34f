"""A middlebox that bleaches: behind a queue that marks, four flows go through it and four do not.

Where it clears the ECN field before the queue, packets are dropped that others have marked. Where it erases marks
behind the queue, its flows never slow down, and the others starve.
"""

import evenflow as ef

RED = {"kind": "red", "variant": "floyd", "action": "mark", "weight": 0.02, "max_threshold": "30 packets"}
LINKS = {
    "access": {"rate": "100 Mbit/s", "delay": "2 ms", "per": "user"},
    "core": {"rate": "10 Mbit/s", "delay": "15 ms", "queue": {**RED, "limit": "100 packets"}},
}
FLOWS = {"users": 1, "traffic": {"kind": "bulk", "flows": 4}, "tcp": {"ecn": "classic"}, "path": ["access", "core"]}
BOXES = {
    "no middlebox": (["access", "core", "box"], {"ecn_map": {"ce": "ce"}}),
    "clears ECN before the queue": (["access", "box", "core"], {"ecn": "not-ect"}),
    "erases marks behind it": (["access", "core", "box"], {"ecn_map": {"ce": "ect0"}}),
}


def main() -> None:
    print(f"{'':28}  through it: Mbit/s   lost  marked      past it: Mbit/s   lost  marked")
    for name, (path, rewrites) in BOXES.items():
        groups = {"through": {**FLOWS, "path": path}, "past": FLOWS}
        stages = {"box": {"kind": "rewriter", **rewrites}}
        tree = {"duration": "60 s", "warmup": "10 s", "links": LINKS, "stages": stages, "groups": groups}
        record = ef.Scenario(tree).run(seed=1)
        print(f"{name:28}", end="")
        for group in ("through", "past"):
            fields = ("goodput_bps", "loss_ratio", "marks", "delivered_packets")
            rate, lost, marks, arrived = (record.metric(f"groups.{group}.{field}") for field in fields)
            print(f"{rate / 1e6:20.2f}  {lost:5.1%}  {marks / arrived:6.1%}", end="")
        print()


if __name__ == "__main__":
    main()

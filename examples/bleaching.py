"""A middlebox that bleaches: what becomes of ECN behind one that clears the field, or erases marks.

Eight flows behind RED that marks, four of them through a rewriter. Cleared before the queue, their packets are dropped where the
others' are marked. With marks erased behind it, they never slow down, and the others starve.
"""

import evenflow as ef

RED = {
    "kind": "red",
    "variant": "floyd",
    "action": "mark",
    "weight": 0.02,
    "min_threshold": "5 packets",
    "max_threshold": "30 packets",
    "limit": "100 packets",
}
BOXES = {
    "no middlebox": None,
    "clears ECN before the queue": ("before", {"ecn": "not-ect"}),
    "erases marks behind it": ("behind", {"ecn_map": {"ce": "ect0"}}),
}


def scenario(box: tuple[str, dict[str, object]] | None) -> ef.Scenario:
    """Two users of four flows over 10 Mbit/s and 34 ms, the first one through the box."""
    where, rewrites = box or ("", {})
    path = ["access", *(["box"] if where == "before" else []), "core", *(["box"] if where == "behind" else [])]
    group = {"users": 1, "traffic": {"kind": "bulk", "flows": 4}, "tcp": {"ecn": "classic"}}
    tree = {
        "duration": "60 s",
        "warmup": "10 s",
        "links": {
            "access": {"rate": "100 Mbit/s", "delay": "2 ms", "per": "user"},
            "core": {"rate": "10 Mbit/s", "delay": "15 ms", "queue": RED},
        },
        "groups": {"through": {**group, "path": path}, "past": {**group, "path": ["access", "core"]}},
    }
    if box is not None:
        tree["stages"] = {"box": {"kind": "rewriter", **rewrites}}
    return ef.Scenario(tree)


def main() -> None:
    print(f"{'':28}  through it: Mbit/s   lost  marked      past it: Mbit/s   lost  marked")
    for name, box in BOXES.items():
        record = scenario(box).run(seed=1)
        cells = []
        for group in ("through", "past"):
            rate, lost, marks, arrived = (
                record.metric(f"groups.{group}.{field}")
                for field in ("goodput_bps", "loss_ratio", "marks", "delivered_packets")
            )
            cells.append(f"{rate / 1e6:18.2f}  {lost:5.1%}  {marks / arrived:6.1%}")
        print(f"{name:28}{cells[0]}  {cells[1]}")


if __name__ == "__main__":
    main()

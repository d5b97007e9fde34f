"""Re-ECN inside an LTE network: what a flood does to honest phones, without and with two policers; docs/lte.md."""

import evenflow as ef

HONEST = 50
FLOOD = {
    "users": 5,
    "traffic": {"kind": "cbr", "rate": "9 Mbit/s", "packet": "1000 B", "start": "30 s", "until": "60 s"},
}
POLICERS = {
    "none": None,
    "by TCP's rate": {"rule": "tcp-rate", "rtt": "600 ms", "action": "drop-while-empty", "strangers": "own"},
    "by volume": {"rule": "volume", "rate": "4 kbit/s", "depth": "60 kB", "action": "drop-while-empty"},
}


def rates(name: str) -> tuple[float, float]:
    """Rates of honest phones and of the flood while it lasts, Mbit/s."""
    rule = POLICERS[name]
    policer = None if rule is None else {"kind": "congestion-policer", "per": "user", **rule}
    cell = ef.lte(
        {"phones": {"users": HONEST}, "flood": FLOOD},
        deployment="infrastructure",
        policer=policer,
        duration="60 s",
        warmup="30 s",
    )
    groups = ef.run(cell).json["groups"]
    return tuple(groups[group]["throughput_bps"] * groups[group]["users"] / 1e6 for group in ("phones", "flood"))


def main() -> None:
    print(f"{'policer':16}{'honest (Mbit/s)':>18}{'flood (Mbit/s)':>18}")
    for name in POLICERS:
        honest, flood = rates(name)
        print(f"{name:16}{honest:18.1f}{flood:18.1f}")


if __name__ == "__main__":
    main()

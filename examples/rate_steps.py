"""A link that halves its rate for a while: what the queue and its delay do, in packets and in time.

An AQM whose thresholds are packets lets the delay double; its delay form keeps the delay and shortens the queue.
"""

from pathlib import Path

import evenflow as ef

HERE = Path(__file__).resolve().parent
RATE = {"steps": [["0 s", "10 Mbit/s"], ["60 s", "5 Mbit/s"], ["120 s", "10 Mbit/s"]]}
FORMS = {
    "thresholds in packets": {"q_min": "12 packets", "q_base": "20 packets", "gamma": "16 packets"},
    "thresholds in time": {"q_min": "14.4 ms", "q_base": "24 ms", "gamma": "19.2 ms"},
}
SERIES = [{"of": f"links.bottleneck.queue.{name}", "every": "100 ms"} for name in ("packets", "wait")]


def main() -> None:
    base = ef.load(HERE / "scenarios" / "abc-default.toml")
    base = base.with_settings({"duration": "180 s", "warmup": "20 s", "links.bottleneck.rate": RATE})
    base = base.set("record.series", SERIES)
    print("                         10 Mbit/s            5 Mbit/s             10 Mbit/s")
    for name, form in FORMS.items():
        queue = {"kind": "activity-aqm", "limit": "48 packets", **form}
        record = base.set("links.bottleneck.queue", queue).run(seed=1)
        times, packets = record.arrays("links.bottleneck.queue.packets")
        _, waits = record.arrays("links.bottleneck.queue.wait")
        cells = []
        for start, end in ((20, 60), (80, 120), (140, 180)):  # 20 s to settle after each step
            inside = (times > start) & (times <= end)
            cells.append(f"{packets[inside].mean():4.1f} pkts {1e3 * waits[inside].mean():5.1f} ms")
        print(f"{name:24} {'   '.join(cells)}")


if __name__ == "__main__":
    main()

"""Step an activity meter by hand: how long does a user who was idle look idle?

The meter is the very object a simulation uses. Here it starts at 0 s; the user sends 5 Mbit/s from 100 s on.
"""

import math

import evenflow as ef

RATE, SIZE = 5e6, 1500
GAP = SIZE * 8 / RATE


def activity_after(seconds: float, memory: str) -> float:
    """Activity of the packet that is sent `seconds` after the user's first."""
    meter = ef.mechanism("activity-meter", memory=memory, reference_rate="10 kbit/s")
    answer = {}
    for i in range(int(seconds / GAP) + 1):
        answer = meter.forward(now_s=100 + i * GAP, bytes=SIZE)
    return answer["activity"]


def main() -> None:
    steady = math.log2(RATE / 10e3)
    print(f"activity of a user who has always sent 5 Mbit/s: {steady:.2f}")
    print("seconds after the first packet:   0.1    0.5      1      3     10")
    for memory in ("1 s", "3 s", "10 s"):
        row = "  ".join(f"{activity_after(t, memory):5.2f}" for t in (0.1, 0.5, 1, 3, 10))
        print(f"memory {memory:>4}                      {row}")
    print("An activity is a logarithm to base 2: one less means half the rate, and so a longer queue before a drop.")


if __name__ == "__main__":
    main()

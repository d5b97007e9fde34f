"""The AccECN option compared with a second implementation, written from the text of RFC 9768 (appendix A)."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import evenflow as ef
import pytest

MSS = 1448
DIVACE = 2**3
DIVOPT = 2**24
SAFETY_FACTOR = 2
KINDS = {172: ("e0b", "ceb", "e1b"), 174: ("e1b", "ceb", "e0b")}


def flags_number(flags: list[str]) -> int:
    return 4 * ("AE" in flags) + 2 * ("CWR" in flags) + ("ECE" in flags)


@dataclass
class DataReceiver:
    """Section 3.2: counters of packets and of payload bytes."""

    cep: int = 5
    octets: dict[str, int] = field(default_factory=lambda: {"e0b": 1, "ceb": 0, "e1b": 1})

    def arrive(self, codepoint: str, payload: int) -> None:
        self.cep += codepoint == "ceb"
        self.octets[codepoint] += payload

    def option(self, kind: int, fields: int) -> bytes:
        body = b"".join((self.octets[name] % DIVOPT).to_bytes(3, "big") for name in KINDS[kind][:fields])
        return bytes([kind, 2 + len(body)]) + body


@dataclass
class DataSender:
    """Appendix A.1 and A.2."""

    cep: int = 5
    octets: dict[str, int] = field(default_factory=lambda: {"e0b": 1, "ceb": 0, "e1b": 1})

    def decode(self, ace: int, newly_acked_bytes: int, option: bytes | None) -> int:
        """Newly marked packets."""
        newly_acked_packets = newly_acked_bytes // MSS
        d_cep = (ace + DIVACE - self.cep % DIVACE) % DIVACE
        safer = newly_acked_packets - (newly_acked_packets - d_cep) % DIVACE
        if d_cep > newly_acked_packets:
            safer = d_cep  # section 3.2.2.5.2: the counter is right
        if option is not None:
            d_ceb = self._bytes(option)
            if safer > d_cep and d_ceb <= MSS * d_cep and d_ceb / safer < MSS / SAFETY_FACTOR:
                safer = d_cep
        self.cep += safer
        return safer

    def _bytes(self, option: bytes) -> int:
        before = self.octets["ceb"]
        for i, name in enumerate(KINDS[option[0]][: (len(option) - 2) // 3]):
            shown = int.from_bytes(option[2 + 3 * i : 5 + 3 * i], "big")
            self.octets[name] += (shown + DIVOPT - self.octets[name] % DIVOPT) % DIVOPT
        return self.octets["ceb"] - before


def opened(**lines: Any) -> ef.Sender:
    sender = ef.sender("rfc", {"kind": "constant", "window": "200 packets"}, mss=MSS, ecn="accurate", **lines)
    sender.open(0)
    sender.write(0, 10**9)
    sender.ack(0.05, 0, ace=0b010, option=bytes([172, 11, 0, 0, 1, 0, 0, 0, 0, 0, 1]))
    return sender


@pytest.mark.parametrize("probability", [0.0, 0.02, 0.3, 0.9])
@pytest.mark.parametrize("seed", range(4))
def test_a_second_implementation_reads_the_same_marks(seed: int, probability: float) -> None:
    """Random marks, thinned ACKs, options of each order and length or none."""
    rng = random.Random(seed)
    engine = opened(accurate_ecn_option=True)
    receiver, second = DataReceiver(), DataSender()
    una = marks = 0
    now = 0.1
    for _ in range(300):
        packets = rng.choice([1, 2, 2, 2, 5, 7, 8, 9, 15, 40])
        ect = rng.choice(["e0b", "e1b"])
        for _ in range(packets):
            receiver.arrive("ceb" if rng.random() < probability else ect, MSS)
        option = rng.choice([None, receiver.option(rng.choice([172, 174]), rng.choice([0, 1, 2, 3, 3]))])
        una += packets * MSS
        now += 0.001
        state = engine.ack(now, una, ace=receiver.cep % DIVACE, option=option)["state"]
        marks += second.decode(receiver.cep % DIVACE, packets * MSS, option)
        assert state["marks"] == marks
        assert state["bytes"] == [second.octets[name] for name in ("e0b", "ceb", "e1b")]
    assert (marks > 0) == (probability > 0) or probability == 0  # without options zero marks may be read as eight


def test_options_on_every_ack_leave_no_doubt() -> None:
    """Thinned ACKs, 2 % of marks: the option yields the exact number, the counter alone does not."""
    counts = {}
    for on in (False, True):
        rng = random.Random(1)
        engine, receiver, una, state = opened(accurate_ecn_option=on), DataReceiver(), 0, {}
        for n in range(400):
            for _ in range(16):
                receiver.arrive("ceb" if rng.random() < 0.02 else "e1b", MSS)
            una += 16 * MSS
            option = receiver.option(174, 2)
            state = engine.ack(0.1 + n / 1000, una, ace=receiver.cep % DIVACE, option=option)["state"]
        counts[on] = state["marks"]
    assert counts[True] == receiver.cep - 5
    assert counts[False] > 10 * counts[True]


def test_wrong_options_are_refused() -> None:
    with pytest.raises(ef.UsageError, match="kind 172 or 174"):
        opened(accurate_ecn_option=True).ack(0.1, 0, option=bytes([173, 2]))
    with pytest.raises(ef.UsageError, match='needs ecn = "accurate"'):
        ef.sender("rfc", accurate_ecn_option=True)

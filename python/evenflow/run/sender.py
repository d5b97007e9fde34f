"""Drive the sending end of a TCP connection packet by packet, so that scripts of packet tests can be replayed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import UsageError


class Sender:
    """The sending end of a connection: the object that runs use. The caller is its application and the other end.

    >>> import evenflow as ef
    >>> tcp = ef.sender("rfc", "newreno", mss=1000)
    >>> tcp.open(0.0)["segments"][0]["flags"]
    ['SYN']
    >>> answer = tcp.write(0.0, 20_000)  # it waits for the handshake
    >>> answer = tcp.ack(0.05, 0)  # the SYN-ACK: the ACK of the handshake and the initial window go out
    >>> len(answer["segments"]), answer["state"]["cwnd"]
    (11, 10.0)
    >>> answer = tcp.ack(0.1, 0, sack=[(1000, 4000)])
    >>> answer["state"]["recovery"], [s["seq"] for s in answer["segments"] if s["again"]]
    ('recovery', [0])

    Times are in s and run forward; a timer that is due before a call goes off first, at its own time. Bytes are counted
    from 0 at the first byte of data; SYN takes no number. Each call answers with a table:

    `segments`: what leaves, a list of tables: `now` (when), `seq`, `payload`, `size` (with headers) in B, `flags`
    (a list of names), `again` (a retransmission), `ecn` ("not-capable", "ect0", "ect1").

    `state`: `life` ("closed", "opening", "open", "given-up"); `recovery` ("open", "disorder", "reduction",
    "recovery", "loss"); `cwnd`, `ssthresh` in segments (None: unbounded); `unacked`, `sacked`, `lost`,
    `retransmitted` (those believed to be in the network) in segments, as Linux's `tcp_info` counts them;
    `retransmitted_in_all`; `una`, `next` in B; `rtt` (smoothed) and `min_rtt` in s, None before the first sample;
    `marks`, the congestion marks that ACKs reported; `bytes`, the counters of the AccECN option for ECT(0), CE and
    ECT(1), None without it; `deadline` in s.
    """

    def __init__(self, tcp: Mapping[str, Any]) -> None:
        from .. import _core

        try:
            self._core = _core.Sender(_text("sender", tcp))
        except ValueError as error:
            raise UsageError(f"sender: {error}") from None

    def open(self, now: float = 0.0) -> dict[str, Any]:
        """Open the connection: a SYN leaves. The first `ack` afterwards is its SYN-ACK.

        Raises:
            UsageError: it was opened before, or time runs backwards.
        """
        return self._call("open", now=now)

    def write(self, now: float, bytes: int) -> dict[str, Any]:
        """The application has `bytes` more to send.

        Raises:
            UsageError: no whole number, or time runs backwards.
        """
        return self._call("write", now=now, bytes=bytes)

    def ack(
        self,
        now: float,
        ack: int,
        sack: Iterable[tuple[int, int]] = (),
        ece: bool | None = None,
        window: int | None = None,
        *,
        ace: int | None = None,
        option: bytes | None = None,
        echo: float | None = None,
    ) -> dict[str, Any]:
        """An ACK arrives.

        Args:
            now: s.
            ack: the next byte expected.
            sack: up to three blocks (from, to), `to` excluded, in B; the newest first.
            ece: it tells a congestion mark: the flag ECN-echo, or one more on the counter of accurate ECN. On the
                SYN-ACK: whether the other end can do classic ECN; None: as the stack's line `peer_ecn` says.
            window: the receive window in B; None: it tells none.
            ace: the three flags AE, CWR, ECE as a number (the counter of accurate ECN), instead of `ece`.
            option: the AccECN option as on the wire, with `accurate_ecn_option=True`.
            echo: when the segment left whose timestamp it echoes, in s; None: as RFC 7323 section 4.3 has it.

        Raises:
            UsageError: it is of bytes that were not sent, blocks that are no ranges, or time runs backwards.
        """
        more = {"sack": [list(block) for block in sack], "option": None if option is None else list(option)}
        return self._call("ack", now=now, ack=ack, ece=ece, window=window, ace=ace, echo=echo, **more)

    def wake(self, now: float) -> dict[str, Any]:
        """Time passes up to `now`: timers that are due by then go off.

        Raises:
            UsageError: time runs backwards.
        """
        return self._call("wake", now=now)

    def deadline(self) -> float | None:
        """When the next timer goes off, in s; None: none is set."""
        return self._core.deadline_s

    def _call(self, method: str, **arguments: Any) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = json.loads(self._core.call(method, _text(f"sender.{method}", arguments)))
        except ValueError as error:
            raise UsageError(f"sender.{method}: {error}") from None
        return answer

    def __repr__(self) -> str:
        return "<Sender>"


def sender(stack: str = "rfc", congestion_control: Any = None, mss: int | str | None = None, **lines: Any) -> Sender:
    """Make the sending end of a connection, to drive it packet by packet.

    Args:
        stack: its profile: "rfc", "linux", "linux3.2", "ns3.26", "ns2", "ns2-linux".
        congestion_control: as in a scenario, a name or a table (`{"kind": "cubic", "form": "linux"}`), also one of
            `evenflow.types`.
        mss: payload of a full segment in B; None: the stack's.
        lines: other lines of a scenario's `tcp` table (`initial_window="4 packets"`, `sack=False`, `ecn="accurate"`).

    Raises:
        UsageError: no such stack, control or line (the nearest is named), or they contradict each other.
    """
    control = congestion_control.to_tree() if hasattr(congestion_control, "to_tree") else congestion_control
    tcp: dict[str, Any] = {"stack": stack, **lines}
    if control is not None:
        tcp["congestion_control"] = control
    if mss is not None:
        tcp["mss"] = mss if isinstance(mss, str) else f"{mss} B"
    return Sender(tcp)


def _text(what: str, tree: Mapping[str, Any]) -> str:
    for name, value in tree.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise UsageError(f"{what}: {name} must be finite, it is {value}")
    try:
        return json.dumps(tree)
    except TypeError as error:
        raise UsageError(f"{what}: {error}") from None

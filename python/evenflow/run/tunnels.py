"""Congestion marks through tunnels, by RFC 6040, RFC 3168, RFC 4301 and Zhang et al. 2011."""

from __future__ import annotations

import json
from typing import TypedDict

from .. import _core

FROM = {
    "rfc6040": "RFC 6040 figures 3 and 4, normal mode",
    "rfc6040-compatibility": "RFC 6040 figures 3 and 4, compatibility mode",
    "rfc3168": "RFC 3168 section 9.1.1, full functionality",
    "rfc4301": "RFC 4301 section 5.1.2.1",
    "paper": "Zhang et al. 2011, section 2.2",
}
"""Where each set of rules stands."""


class Rules(TypedDict):
    """The two ends of a tunnel. Fields are `Not-ECT`, `ECT(0)`, `ECT(1)`, `CE`."""

    ingress: dict[str, str]
    """The outer field, by the packet's own."""
    egress: dict[str, dict[str, str | None]]
    """The field that leaves the tunnel, by inner and outer field; None: the packet is dropped."""


class TunnelTable(TypedDict):
    """All rules beside each other."""

    fields: list[str]
    rules: dict[str, Rules]
    alarms: dict[str, dict[str, str | None]]
    """`dangerous` or `possibly-dangerous`: pairs of inner and outer field that are currently unused (RFC 6040, 4.2)."""


def tunnel_table() -> TunnelTable:
    """The ECN field at both ends of a tunnel, for every set of rules; made by the code that the stages use."""
    found: TunnelTable = json.loads(_core.tunnel_table())
    return found

"""Scenarios from the JSON schema: shapes and names are its own, values lie near the defaults, and what concerns several
places (paths, classes, series) is made to agree, so that most are accepted."""

from __future__ import annotations

import json
import random
import re
from functools import lru_cache
from typing import Any

DEFAULT = re.compile(r"Default: (.*)\.$", re.DOTALL)
QUANTITY = re.compile(r"^(-?[0-9.]+(?:e[+-]?[0-9]+)?)( .+)?$")

TYPICAL: dict[str, list[Any]] = {
    "rate": ["1 Mbit/s", "10 Mbit/s", "100 kbit/s", "40 Mbit/s"],
    "duration": ["1 ms", "10 ms", "50 ms", "100 ms", "200 us"],
    "bytes": ["1500 B", "30 kB", "200 B", "1 MB"],
    "packets": ["5 packets", "20 packets", "100 packets"],
    "queue-length": ["10 packets", "100 packets", "60 kB", "20 ms"],
    "packets-or-duration": ["10 packets", "5 ms"],
    "packets-or-bytes": ["10 packets", "30 kB"],
    "rate-or-packet-rate": ["5 Mbit/s", "500 packets/s"],
    "number": [0.1, 0.5, 1, 2, 8],
}
EXTREME: dict[str, list[Any]] = {
    "rate": ["1 bit/s", "100 Gbit/s"],
    "duration": ["0 s", "1 ns", "1e9 s"],
    "bytes": ["0 B", "1 B", "1e18 B"],
    "packets": ["0 packets", "1 packet", "1e18 packets"],
    "number": [0, -1, 1e-300, 1e300],
}
"""Where nothing else is said, or at the end of some range."""
ELSEWHERE = {"peer", "controls", "arrivals", "share", "trace", "title", "sweep", "record", "class"}
"""Keys whose values name other places: set by hand, or not at all."""


PAIRS = (
    ("tunnel-ingress", "tunnel-egress"),
    ("tunnel-ingress", "tunnel-egress"),
    ("congestion-controller", "congestion-reporter"),
)
"""Stages that are peers, in the order in which packets meet the first of each; the second the other way round."""


@lru_cache(maxsize=1)
def schema() -> dict[str, Any]:
    from evenflow import _core

    found: dict[str, Any] = json.loads(_core.json_schema())
    return found


class Maker:
    """One scenario."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.often = rng.choice([0.03, 0.1, 0.1, 0.3])
        self.odd = rng.choice([0, 0, 0.02, 0.1])

    def quantity(self, name: str, default: str) -> Any:
        """A quantity of the definition `name`: near its default, a usual one, or an extreme."""
        rng = self.rng
        if rng.random() < self.odd:
            return rng.choice(EXTREME.get(name, EXTREME["number"] if name == "number" else TYPICAL[name]))
        found = QUANTITY.match(default)
        if found is None:
            return rng.choice(TYPICAL[name])
        x = float(found[1]) * rng.choice([0.25, 0.5, 1, 1, 1, 2, 4])
        return f"{x:g}{found[2]}" if found[2] else x

    def value(self, node: dict[str, Any], default: str = "") -> Any:
        """A value of a schema's node; `default` is what the description of the node above says."""
        rng = self.rng
        said = DEFAULT.search(node.get("description", ""))
        default = said[1] if said else default
        if "$ref" in node:
            name = node["$ref"].rsplit("/", 1)[1]
            if name.removeprefix("plain-") in TYPICAL:
                plain = name.removeprefix("plain-")
                one = self.quantity(plain, default)
                if name == plain and rng.random() < 0.04:
                    return rng.choice([{"uniform": [one, one]}, {"values": [one, one]}, {"exponential": one}])
                return one
            if name == "name":
                return "be"
            return self.value(schema()["$defs"][name], default)
        if "const" in node:
            return node["const"]
        if "enum" in node:
            near = [word for word in node["enum"] if word == default]
            return rng.choice(near if near and rng.random() < 0.5 else node["enum"])
        if "anyOf" in node:
            plain = [one for one in node["anyOf"] if "pattern" in one or "$ref" in one or "enum" in one]
            return self.value(rng.choice(plain if plain and rng.random() < 0.5 else node["anyOf"]), default)
        return self.of_type(node, default)

    def of_type(self, node: dict[str, Any], default: str) -> Any:
        """The same of a node that names its type."""
        rng = self.rng
        kind = node.get("type")
        if kind == "object" and "properties" in node:
            return self.table(node)
        if kind == "object":
            return {
                name: self.value(node["additionalProperties"]) for name in rng.sample(["be", "ef"], rng.choice([1, 2]))
            }
        if kind == "array":
            parts = node.get("prefixItems")
            if parts is not None:
                return [self.value(part) for part in parts]
            return [self.value(node["items"]) for _ in range(max(node.get("minItems", 0), 1))]
        if kind == "integer":
            least = max(int(default) if default.isdigit() else 1, node.get("minimum", 0))
            return rng.choice([least, least, least + 1, 2 * least, *([0, 2**53] if rng.random() < self.odd else [])])
        if kind == "boolean":
            return rng.random() < 0.5
        if kind == "number":
            return rng.choice([1.5, 0.5, 2.0])
        if node.get("pattern", "").startswith("^(user|flow"):
            return rng.choice(["user", "flow", "group", "2 users"])
        return "film.mpd" if rng.random() < self.odd else ["500 kbit/s", "1 Mbit/s"]

    def table(self, node: dict[str, Any]) -> dict[str, Any]:
        """A table: what is required, and some of the rest."""
        wanted = set(node.get("required", []))
        one = node.get("oneOf")
        if one:
            wanted |= set(self.rng.choice(one)["required"])
        wanted |= {"kind", "interval"} & set(node["properties"])
        return {
            key: self.value(below)
            for key, below in node["properties"].items()
            if key in wanted or (not one and key not in ELSEWHERE and self.rng.random() < self.often)
        }

    def scenario(self) -> dict[str, Any]:
        """Up to three links and two stages, tunnels and what has a peer around them, up to three groups."""
        rng = self.rng
        parts = schema()["properties"]
        link = parts["links"]["additionalProperties"]["properties"]
        links: dict[str, Any] = {}
        for name in ["a", "b", "c"][: rng.choice([1, 1, 2, 3])]:
            links[name] = made = {"rate": rng.choice(TYPICAL["rate"]), "delay": rng.choice(TYPICAL["duration"])}
            if rng.random() < 0.7:
                made["queue"] = self.queue(link["queue"])
            for key, often in (("per", 0.15), ("jitter", 0.1), ("loss", 0.15)):
                if rng.random() < often:
                    made[key] = rng.choice(["user", "flow", "group"]) if key == "per" else self.value(link[key])
            if rng.random() < 0.15:
                made["reverse"] = {"rate": rng.choice(TYPICAL["rate"]), "queue": self.queue(link["queue"])}
        stages: dict[str, Any] = {}
        kinds = {one["properties"]["kind"]["const"]: one for one in parts["stages"]["additionalProperties"]["anyOf"]}
        paired = {kind for pair in PAIRS for kind in pair}
        alone = [one for kind, one in kinds.items() if kind not in paired and not set(one["required"]) & ELSEWHERE]
        for name in ["s", "t"][: rng.choice([0, 0, 1, 2])]:
            stages[name] = self.table(rng.choice(alone))
        # Tunnels around the links, perhaps one in another, and what has a peer in them.
        around: list[tuple[str, str]] = []
        for number, (first, second) in enumerate(PAIRS):
            if rng.random() < 0.2:
                ends = (f"in{number}", f"out{number}")
                stages[ends[0]] = {**self.table(kinds[first]), "peer": ends[1]}
                stages[ends[1]] = self.table(kinds[second])
                around.append(ends)
        tree: dict[str, Any] = {"duration": "200 ms", "warmup": "20 ms", "links": links, "stages": stages, "groups": {}}
        group = parts["groups"]["additionalProperties"]["properties"]
        traffics = group["traffic"]["anyOf"][0]["anyOf"]
        for name in ["x", "y", "z"][: rng.choice([1, 1, 2, 3])]:
            single = [name for name in stages if name in ("s", "t")]
            middle = [*single, *links] if rng.random() < 0.7 else [*links, *single]
            own = around if rng.random() < 0.9 else []
            path = [*(first for first, _ in own), *middle, *(second for _, second in reversed(own))]
            tree["groups"][name] = made = {"users": rng.choice([1, 1, 2, 5]), "path": path}
            made["traffic"] = self.table(rng.choice(traffics))
            made["traffic"].pop("tcp", None)
            if rng.random() < 0.2:
                made["class"] = "ef"
            if rng.random() < 0.1:
                made["processing"] = self.value(group["processing"])
            if rng.random() < 0.2:
                made["weight"] = rng.choice([0.5, 2, {"uniform": [1, 4]}])
            if made["traffic"]["kind"] not in ("cbr", "poisson", "ping") and rng.random() < 0.5:
                made["tcp"] = self.value(group["tcp"])
        if not stages:
            del tree["stages"]
        if rng.random() < 0.2:
            tree["record"] = {"series": [{"of": "links.a.queue.packets", "every": rng.choice(["10 ms", "packet"])}]}
        return tree

    def queue(self, node: dict[str, Any]) -> dict[str, Any]:
        """A queue, often with a limit; `steps` are rare."""
        made = self.table(self.rng.choice(node["anyOf"]))
        made.pop("change", None)
        if self.rng.random() < 0.6:
            made["limit"] = self.quantity("queue-length", "")
        return made


NEEDED = {"rate": "1 Mbit/s", "depth": "30 kB", "max_threshold": "20 packets", "min_threshold": "5 packets"}


def make(rng: random.Random) -> dict[str, Any]:
    """A scenario's tree. Of most, what the decoder finds wrong is taken out or put in, so that they are accepted."""
    tree = Maker(rng).scenario()
    if rng.random() < 0.15:
        return tree
    for _ in range(4):
        wrong = errors_of(tree)
        if not wrong:
            break
        for path, why in wrong:
            mend(tree, path, why)
    return tree


def errors_of(tree: dict[str, Any]) -> list[tuple[str, str]]:
    """What the decoder says of it. A defect is left to the case's own process."""
    from evenflow.errors import ScenarioError
    from evenflow.scenario.scenario import decode

    try:
        return list(decode(tree, "fuzz.toml")[1])
    except ScenarioError as error:
        return list(error.errors)
    except BaseException:
        return []


def mend(tree: dict[str, Any], path: str, why: str) -> None:
    """Takes out what an error names, or puts in what it misses."""
    from evenflow.scenario import paths

    try:
        steps = paths.parse(path)
        if why.startswith("is required") and steps[-1] in NEEDED:
            paths.assign(tree, steps, NEEDED[steps[-1]])
        elif steps[0] == "stages" and (why.startswith("is required") or len(steps) < 4):
            tree["stages"].pop(steps[1], None)
            for group in tree["groups"].values():
                group["path"] = [hop for hop in group["path"] if hop != steps[1]]
        elif why.startswith("is required"):
            paths.remove(tree, steps[:-1])
        elif paths.has(tree, steps):
            paths.remove(tree, steps)
    except Exception:
        return

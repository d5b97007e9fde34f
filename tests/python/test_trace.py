"""`[record] trace`: packets of chosen flows, one by one, as a table and as CSV."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import evenflow as ef
import polars as pl
import pytest
from evenflow.errors import ScenarioError, UsageError
from evenflow.run import saved
from evenflow.run.record import ACTIONS


def scenario(**record: Any) -> ef.Scenario:
    return ef.Scenario(
        {
            "duration": "3 s",
            "links": {"core": {"rate": "2 Mbit/s", "delay": "10 ms", "queue": {"limit": "5 packets"}}},
            "stages": {"meter": {"kind": "rate-meter"}},
            "groups": {
                "a": {"users": 2, "path": ["meter", "core"], "traffic": {"kind": "bulk"}},
                "b": {"users": 1, "path": ["core"], "traffic": {"kind": "poisson", "rate": "100 kbit/s"}},
            },
            "record": record,
        }
    )


def test_a_table_of_packets() -> None:
    record = scenario(trace=["groups.a.users[1].flows[0]"]).run(seed=2)
    frame = record.trace()
    assert frame.columns[:4] == ["time_s", "component", "flow", "action"]
    assert frame["flow"].unique().to_list() == [1]
    assert frame["time_s"].is_sorted()
    assert set(frame["component"]) == {"end", "links.core", "stages.meter"}
    assert set(frame["action"]) == {"send", "arrive", "leave", "pass", "drop", "receive"}
    dropped = frame.filter(pl.col("action") == "drop")
    assert dropped.height > 0
    assert set(dropped["reason"]) == {"limit"}
    syn = frame.row(0, named=True)
    assert (syn["action"], syn["flags"], syn["size"], syn["seq"], syn["ack"]) == ("send", 2, 60, 0, None)
    assert (syn["backward"], syn["ecn"], syn["re"], syn["window"]) == (False, 0, False, None)
    # ACKs are of 52 B, travel backwards, and some report what lies beyond a hole.
    acks = frame.filter(pl.col("backward") & (pl.col("flags") == 16) & (pl.col("action") == "receive"))
    assert acks["size"].unique().to_list() == [52]
    reports = acks.filter(pl.col("sack_1_from").is_not_null())
    assert reports.height > 0
    assert (reports["sack_1_to"] > reports["sack_1_from"]).all()
    assert (reports["sack_1_from"] >= reports["ack"]).any()


def test_every_data_packet_arrives_or_is_dropped_or_is_under_way() -> None:
    record = scenario(trace=["groups.a", "groups.b"]).run(seed=1)
    data = record.trace().filter(pl.col("payload") > 0)
    count = dict(data.group_by("action").len().iter_rows())
    under_way = count["send"] - count["receive"] - count["drop"]
    assert 0 <= under_way < 30
    drops = record.json["links"]["core"]["drops"]
    assert count["drop"] == sum(drops.values())


def test_no_number_changes() -> None:
    plain, traced = scenario().run(seed=3), scenario(trace=["groups.a"]).run(seed=3)
    own = {"scenario_hash", "record_hash", "folded", "wall_s", "cpu_s", "events"}
    assert {k: v for k, v in plain.json.items() if k not in own} == {
        k: v for k, v in traced.json.items() if k not in own
    }


def test_files(tmp_path: Path) -> None:
    record = scenario(trace=["groups.a.users[0]"], events=["drop"]).run(seed=1)
    files = saved.run_files(record)
    table = pl.read_csv(io.BytesIO(files["trace.csv"]))
    assert table.height == record.trace().height
    assert set(table["action"]) <= set(ACTIONS)
    assert not any(
        name.startswith("trace.") for name in pl.read_csv(io.BytesIO(files["series.csv"]))["series"].unique()
    )
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    saved.seal(tmp_path, saved.RECORD, saved.run_head(record), files)
    again = ef.open(tmp_path)
    assert isinstance(again, ef.Record)
    assert again.trace().equals(record.trace())


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(UsageError, match="Nothing was traced"):
        scenario().run(seed=1).trace()
    with pytest.raises(ScenarioError, match="did you mean"):
        scenario(trace=["groups.aa"]).run(seed=1)
    with pytest.raises(ScenarioError, match="at most 1000"):
        scenario(trace=["groups.a"]).set("groups.a.users", 1_000_000).run(seed=1)

"""What control groups leave of the memory: both versions, nested, in containers, and files that make no sense."""

from __future__ import annotations

from pathlib import Path

import pytest
from evenflow.scenario import control_groups, scenario

V2 = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"
V1 = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory"
HYBRID = "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw"
NO_LIMIT = 9223372036854771712


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "proc" / "self").mkdir(parents=True)
    return tmp_path


def processes(root: Path, groups: str, mounts: str = "") -> None:
    (root / "proc/self/cgroup").write_text(groups)
    (root / "proc/self/mountinfo").write_text(mounts)


def v2(folder: Path, limit: object, taken: object, inactive: int | None = None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.max").write_text(f"{limit}\n")
    (folder / "memory.current").write_text(f"{taken}\n")
    if inactive is not None:
        (folder / "memory.stat").write_text(f"anon 5\ninactive_anon 3\ninactive_file {inactive}\nactive_file 7\n")


def v1(folder: Path, limit: object, taken: object, inactive: int | None = None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.limit_in_bytes").write_text(f"{limit}\n")
    (folder / "memory.usage_in_bytes").write_text(f"{taken}\n")
    if inactive is not None:
        (folder / "memory.stat").write_text(f"inactive_file 1\ntotal_inactive_file {inactive}\n")


def test_the_group_of_a_slurm_step_counts_and_those_above_it(root: Path) -> None:
    processes(root, "0::/system.slice/slurmstepd.scope/job_7/step_0/user\n", V2)
    scope = root / "sys/fs/cgroup/system.slice/slurmstepd.scope"
    v2(scope / "job_7", 4000, 1000)
    v2(scope / "job_7/step_0", "max", 900)
    v2(scope / "job_7/step_0/user", "max", 800)
    assert control_groups.left(root) == [3000]
    v2(scope / "job_7/step_0", 2000, 900, 300)
    assert sorted(control_groups.left(root)) == [1400, 3000]


def test_file_pages_that_can_go_are_free(root: Path) -> None:
    processes(root, "0::/scope\n", V2)
    v2(root / "sys/fs/cgroup/scope", 1000, 900, 600)
    assert control_groups.left(root) == [700]
    v2(root / "sys/fs/cgroup/scope", 1000, 900, 5000)
    assert control_groups.left(root) == [1000]


def test_a_group_beyond_its_limit_leaves_nothing(root: Path) -> None:
    processes(root, "0::/scope\n", V2)
    v2(root / "sys/fs/cgroup/scope", 1000, 1200)
    assert control_groups.left(root) == [0]


def test_version_1(root: Path) -> None:
    processes(root, "9:name=systemd:/\n4:hugetlb,memory:/batch/job\n1:cpu:/other\n0::/\n", f"{V1}\n{HYBRID}\n")
    v1(root / "sys/fs/cgroup/memory", NO_LIMIT, 10)
    v1(root / "sys/fs/cgroup/memory/batch", 8000, 5000, 1000)
    v1(root / "sys/fs/cgroup/memory/batch/job", 9000, 400)
    assert sorted(control_groups.left(root)) == [4000, 8600, NO_LIMIT - 10]


def test_a_parent_of_version_1_without_hierarchy_limits_only_itself(root: Path) -> None:
    processes(root, "4:memory:/batch/job\n", V1)
    v1(root / "sys/fs/cgroup/memory/batch", 100, 100)
    (root / "sys/fs/cgroup/memory/batch/memory.use_hierarchy").write_text("0\n")
    v1(root / "sys/fs/cgroup/memory/batch/job", 9000, 400)
    (root / "sys/fs/cgroup/memory/batch/job/memory.use_hierarchy").write_text("0\n")
    assert control_groups.left(root) == [8600]


@pytest.mark.parametrize("path", ["/docker/abc", "/docker/abc/inner", "/../..", "/elsewhere"])
def test_a_container_sees_its_own_group_as_the_top(root: Path, path: str) -> None:
    processes(root, f"0::{path}\n", V2.replace(" / ", " /docker/abc ", 1))
    v2(root / "sys/fs/cgroup", 500, 100)
    assert control_groups.left(root) == [400]


def test_where_nothing_says_where_groups_are_mounted(root: Path) -> None:
    processes(root, "4:memory:/a\n0::/b\n")
    v1(root / "sys/fs/cgroup/memory/a", 50, 20)
    v2(root / "sys/fs/cgroup/b", 90, 20)
    assert sorted(control_groups.left(root)) == [30, 70]


@pytest.mark.parametrize(
    "groups", ["", "garbage", "0:", "0::", "0::relative\n", "::\n\n:::::\n", "4:memory:/gone\n0::/gone\n", "\x00\xff"]
)
def test_files_that_make_no_sense(root: Path, groups: str) -> None:
    processes(root, groups, "garbage\n- - -\n1 2 3\n" + V2 + " - cgroup2\n")
    assert control_groups.left(root) == []


@pytest.mark.parametrize("limit", ["", "max", "garbage", "12 13", "-"])
def test_limits_that_are_none(root: Path, limit: str) -> None:
    processes(root, "0::/scope\n", V2)
    v2(root / "sys/fs/cgroup/scope", limit, 10)
    assert control_groups.left(root) == []
    v2(root / "sys/fs/cgroup/scope", 10, limit)
    assert control_groups.left(root) == []


def test_no_proc_at_all(tmp_path: Path) -> None:
    assert control_groups.left(tmp_path) == []


def test_the_least_of_all_is_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_groups, "left", lambda: [70_000, 50_000])
    assert scenario.available_memory() == 50_000
    monkeypatch.setattr(control_groups, "left", lambda: [2**62])
    free = scenario.available_memory()
    assert free is None or free < 2**62

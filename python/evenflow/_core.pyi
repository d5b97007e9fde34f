"""The Rust engine (crates/python): conversion only, no logic."""

from typing import final

__all__ = [
    "BUILD_PROFILE",
    "ENGINE_ID",
    "RECORD_VERSION",
    "Interrupted",
    "Mechanism",
    "OutOfMemory",
    "Record",
    "Scenario",
    "ScenarioError",
    "Sender",
    "StageError",
    "__version__",
    "capture",
    "clear_stop",
    "json_schema",
    "reached_s",
    "record_hash",
    "request_stop",
    "run",
    "schema",
    "tunnel_table",
]

__version__: str
BUILD_PROFILE: str
"""`release` or `debug`; the bench refuses a debug build."""
ENGINE_ID: str
"""Hash of what decides a run's numbers, taken at build: the tokens of the crates a run depends on, without comments,
documentation and tests, and the packages below them. 16 hex digits."""
RECORD_VERSION: int
"""The version of the records this engine makes: raised when fields are added."""

def schema() -> str:
    """JSON: every mechanism's declarative table, and the metrics."""

def record_hash(text: str, series: list[tuple[str, bytes, bytes]], version: int | None = None) -> str:
    """The hash of a record's JSON text and series (name, times, values) over the fields that records have had since
    `version`; default: `RECORD_VERSION`, all of them. Raises ValueError if the text is no record."""

def json_schema() -> str:
    """The JSON Schema of scenario files, for editors."""

def capture(interfaces: list[str], columns: dict[str, bytes]) -> bytes:
    """A capture file (pcapng). `columns`: those of a trace as little-endian f64, NaN where a packet has no value, and
    `interface` (index) and `ipv6` (0 or 1). Raises ValueError for a column that is missing or of another length."""

def tunnel_table() -> str:
    """JSON: what tunnels do to the ECN field, by rules, inner and outer field."""

class ScenarioError(ValueError):
    errors: list[tuple[str, str]]
    """(path, message); a message ends with the nearest valid name if there is one."""

class OutOfMemory(Exception):
    """A run would use more memory than it may; the message names the simulated time and the three largest consumers."""

class Interrupted(Exception):
    """A run ended by `request_stop`."""

class StageError(Exception):
    """A stage has made a run senseless, as one does that holds packets for ever; or a trace has grown too long. The
    message says which, and how."""

@final
class Scenario:
    def __new__(cls, tree_json: str) -> Scenario:
        """Decode a scenario tree (JSON text). Raises ScenarioError with every error; `sweep` is ignored."""
    @property
    def canonical(self) -> str: ...
    @property
    def hash(self) -> str: ...
    @property
    def memory_bytes(self) -> int:
        """A lower bound of what a run takes."""
    @property
    def marks(self) -> dict[str, tuple[bool, bool]]:
        """Whether the queue of each link may mark: forward and reverse direction, by name."""
    @property
    def duration_s(self) -> float: ...
    @property
    def warmup_s(self) -> float: ...

@final
class Record:
    @property
    def json(self) -> str: ...
    @property
    def record_hash(self) -> str: ...
    @property
    def series_names(self) -> list[str]: ...
    def series(self, name: str) -> tuple[bytes, bytes]:
        """Little-endian f64: times in s, values."""

def run(scenario: Scenario, seed: int, memory: int | None = None) -> Record:
    """One run in `memory` bytes, the GIL released. Raises Interrupted, OutOfMemory, StageError, and RuntimeError for a
    broken invariant."""

def request_stop() -> None:
    """All runs under way in this process raise Interrupted soon."""

def clear_stop() -> None: ...
def reached_s() -> float:
    """The simulated instant that the run under way has reached, in s; of several, the one that last looked."""

@final
class Mechanism:
    def __new__(cls, kind: str, params_json: str) -> Mechanism: ...
    @property
    def room(self) -> str:
        """What it is asked as: "queue", "scheduler", "stage", "congestion-control"."""
    def call(self, method: str, args_json: str) -> str:
        """JSON in, JSON out. Raises ValueError on bad use."""

@final
class Sender:
    def __new__(cls, tcp_json: str) -> Sender: ...
    def call(self, method: str, args_json: str) -> str:
        """JSON in, JSON out. Raises ValueError on bad use."""
    @property
    def deadline_s(self) -> float | None: ...

# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Final

ACL_PROF_ACL_API: Final[int]
ACL_PROF_TASK_TIME: Final[int]
ACL_PROF_AICORE_METRICS: Final[int]
ACL_PROF_AICPU: Final[int]
ACL_PROF_L2CACHE: Final[int]
ACL_PROF_HCCL_TRACE: Final[int]
ACL_PROF_TRAINING_TRACE: Final[int]
ACL_PROF_MSPROFTX: Final[int]
ACL_PROF_RUNTIME_API: Final[int]
ACL_PROF_GE_API_L0: Final[int]
ACL_PROF_TASK_TIME_L0: Final[int]
ACL_PROF_TASK_MEMORY: Final[int]
ACL_PROF_TASK_TIME_L2: Final[int]
ACL_PROF_OP_ATTR: Final[int]
ACL_PROF_TASK_TIME_L3: Final[int]
ACL_PROF_GE_API_L1: Final[int]
ACL_PROF_API_STATS: Final[int]
ACL_PROF_AICORE_SHAPE: Final[int]
ACL_AICORE_ARITHMETIC_UTILIZATION: Final[int]
ACL_AICORE_PIPE_UTILIZATION: Final[int]
ACL_AICORE_MEMORY_BANDWIDTH: Final[int]
ACL_AICORE_L0B_AND_WIDTH: Final[int]
ACL_AICORE_RESOURCE_CONFLICT_RATIO: Final[int]
ACL_AICORE_MEMORY_UB: Final[int]
ACL_AICORE_L2_CACHE: Final[int]
ACL_AICORE_PIPE_EXECUTE_UTILIZATION: Final[int]
ACL_AICORE_MEMORY_ACCESS: Final[int]
ACL_AICORE_NONE: Final[int]
ACL_PROF_STORAGE_LIMIT: Final[int]
ACL_PROF_SYS_HARDWARE_MEM_FREQ: Final[int]
ACL_PROF_LLC_MODE: Final[int]
ACL_PROF_SYS_IO_FREQ: Final[int]
ACL_PROF_SYS_INTERCONNECTION_FREQ: Final[int]
ACL_PROF_DVPP_FREQ: Final[int]
ACL_PROF_HOST_SYS: Final[int]
ACL_PROF_HOST_SYS_USAGE: Final[int]
ACL_PROF_HOST_SYS_USAGE_FREQ: Final[int]
ACL_PROF_LOW_POWER_FREQ: Final[int]
ACL_PROF_SYS_MEM_SERVICEFLOW: Final[int]
ACL_PROF_SYS_CPU_FREQ: Final[int]
ACL_PROF_OPTYPE: Final[int]
ACL_PROF_NTS_METRICS: Final[int]
ACL_PROF_PATH: Final[int]
DEFAULT_DATA_TYPES: Final[int]

def init(profiler_result_path: str) -> int: ...
def finalize(*args: object) -> int: ...
def create_config(device_list: list[int], aicore_metrics: int, aicore_events: int, data_type_config: int) -> int: ...
def destroy_config(profiler_config: int) -> int: ...
def set_config(config_type: int, config: str) -> int: ...
def start(profiler_config: int) -> int: ...
def stop(profiler_config: int) -> int: ...
def create_stamp() -> int: ...
def destroy_stamp(stamp: int) -> None: ...
def set_stamp_trace_message(stamp: int, msg: str, msg_len: int) -> int: ...
def mark(stamp: int) -> int: ...
def mark_ex(msg: str, stream: int) -> int: ...
def push(stamp: int) -> int: ...
def pop(*args: object) -> int: ...
def range_start(stamp: int) -> tuple[int, int]: ...
def range_stop(range_id: int) -> int: ...
def last_message() -> str: ...
def directory() -> str: ...

class Error(RuntimeError):
    function: str
    code: int
    message: str
    def __init__(self, function: str, code: int, message: str = "") -> None: ...

class Profile:
    path: str
    devices: list[int]
    metrics: int
    data_types: int
    settings: dict[int, object]
    directory: str | None
    def __init__(
        self,
        path: str,
        devices: Iterable[int] = (0,),
        metrics: int = ...,
        data_types: int = ...,
        settings: Mapping[int, object] | None = None,
    ) -> None: ...
    def __enter__(self) -> Profile: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

# SPDX-License-Identifier: Apache-2.0
"""Profiling from inside the program: the functions of pyACL's acl.prof, and what makes them handier.

    with acl.prof.Profile("out", devices=[0]) as profile:
        work()
    print(profile.directory)

is the same as the published order of calls: init(path), create_config(...), start(config), the work, stop(config),
destroy_config(config), finalize(). Functions return an error code `ret` (0 is success), or a tuple of a value and the
code; last_message() tells why a call failed. Profile raises Error instead. The constants ACL_PROF_* and ACL_AICORE_* have
the values of acl/acl_prof.h.
"""

from . import _other

_other.extension("._prof", __package__)
from ._prof import *  # noqa: F403
from . import _prof

#: What Profile collects unless told otherwise.
DEFAULT_DATA_TYPES = _prof.ACL_PROF_ACL_API | _prof.ACL_PROF_TASK_TIME | _prof.ACL_PROF_AICORE_METRICS

__all__ = sorted([name for name in vars(_prof) if not name.startswith("_")] + ["DEFAULT_DATA_TYPES", "Error", "Profile"])


class Error(RuntimeError):
    """A call of the profiler failed: its name, the code that it returned, and why, if the library says so."""

    def __init__(self, function, code, message=""):
        super().__init__(f"acl.prof.{function} returned {code}" + (f": {message}" if message else ""))
        self.function = function
        self.code = code
        self.message = message


class Profile:
    """A session as a context manager. It owns profiling from __enter__ to __exit__, and may be entered again later.

    path: where the PROF_* directory goes
    devices: ids; () with ACL_PROF_MSPROFTX alone
    metrics: one of ACL_AICORE_*, for ACL_PROF_AICORE_METRICS
    data_types: ACL_PROF_* bits joined by |
    settings: {ACL_PROF_SYS_IO_FREQ: 50, ...}, given to set_config()

    A failure at the begin undoes what was begun. One at the end is raised unless the work itself raised something, which
    is what the caller wants to see; a note is added to it then.
    """

    def __init__(self, path, devices=(0,), metrics=_prof.ACL_AICORE_PIPE_UTILIZATION, data_types=DEFAULT_DATA_TYPES,
                 settings=None):
        self.path = path
        self.devices = list(devices)
        self.metrics = metrics
        self.data_types = data_types
        self.settings = dict(settings or {})
        #: The PROF_* directory of the last session, None before the first.
        self.directory = None
        self._config = 0

    @staticmethod
    def _check(function, *arguments):
        ret = getattr(_prof, function)(*arguments)
        if ret != 0:
            raise Error(function, ret, _prof.last_message())

    def __enter__(self):
        if self._config:
            raise Error("start", 100002, "this Profile is entered already")
        self._check("init", self.path)
        try:
            for kind, value in self.settings.items():
                self._check("set_config", kind, str(value))
            self._config = _prof.create_config(self.devices, self.metrics, 0, self.data_types)
            if self._config == 0:
                raise Error("create_config", 0, _prof.last_message())
            self._check("start", self._config)
            self.directory = _prof.directory()
        except BaseException:
            self._release()
            _prof.finalize()
            raise
        return self

    def __exit__(self, kind, error, traceback):
        failed = None
        for function, arguments in (("stop", (self._config,)), ("finalize", ())):
            try:
                self._check(function, *arguments)
            except Error as e:
                failed = failed or e
        self._release()
        if failed is None:
            return
        if error is None:
            raise failed
        error.add_note(str(failed))

    def _release(self):
        if self._config:
            _prof.destroy_config(self._config)
            self._config = 0

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The aclprof functions are found through a handle on libascendcl alone, as clients of the vendor's library do."""
import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
for name in ('aclprofInit', 'aclprofStart', 'aclprofStop', 'aclprofFinalize', 'aclprofCreateConfig',
             'aclprofDestroyConfig'):
    getattr(library, name)

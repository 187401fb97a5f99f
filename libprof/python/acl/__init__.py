# SPDX-License-Identifier: Apache-2.0
"""The ACL runtime and its profiler for Python, with the names and conventions of pyACL.

Handles and addresses are integers, 0 is NULL. Functions return an error code `ret` (0 is success), or a tuple of a
value and the code. `help(acl.prof)` and the other submodules lists what there is.
"""

import importlib as _importlib
import os as _os
import sys as _sys

try:
    _acl = _importlib.import_module("._acl", __name__)
except ModuleNotFoundError:
    # Without this, `from . import _acl` under another Python speaks of a circular import.
    _built = [name for name in _os.listdir(_os.path.dirname(__file__)) if name.startswith("_acl.")]
    raise ImportError(
        "acl is built for %s, this is %s; use the Python it is built for, on Debian 12 /usr/bin/python3"
        % (", ".join(name.split(".")[1] for name in _built) or "no Python at all", _sys.implementation.cache_tag)
    ) from None
from . import util
from ._acl import (
    create_data_buffer,
    destroy_data_buffer,
    finalize,
    get_data_buffer_addr,
    get_data_buffer_size,
    get_data_buffer_size_v2,
    get_recent_err_msg,
    get_soc_name,
    init,
    update_data_buffer,
)

mdl, prof, rt = _acl.mdl, _acl.prof, _acl.rt

# So that `import acl.prof` works as well as `import acl`.
for _module in (mdl, prof, rt):
    _name = _module.__name__.rsplit(".", 1)[1]
    _module.__name__ = __name__ + "." + _name
    _sys.modules[_module.__name__] = _module
del _module, _name

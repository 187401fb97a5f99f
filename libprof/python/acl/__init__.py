# SPDX-License-Identifier: Apache-2.0
"""The ACL runtime and its profiler for Python, with the names and conventions of pyACL.

Handles and addresses are integers, 0 is NULL. Functions return an error code `ret` (0 is success), or a tuple of a
value and the code. `help(acl.prof)` and the other submodules lists what there is.

Where another acl is installed too, which drives NPUs that are none of ours, `import acl` gives that one, and only acl.prof
is the one beside this file.
"""

import sys as _sys

from . import _other, prof

_spec = _other.find(__name__, __path__)
if _spec is not None:
    _other.load(_spec, prof)
else:
    _acl = _other.extension("._acl", __name__)
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

    mdl, rt = _acl.mdl, _acl.rt

    # So that `import acl.rt` works as well as `import acl`.
    for _module in (mdl, rt):
        _name = _module.__name__.rsplit(".", 1)[1]
        _module.__name__ = __name__ + "." + _name
        _sys.modules[_module.__name__] = _module
    del _module, _name

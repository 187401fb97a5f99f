# SPDX-License-Identifier: Apache-2.0
"""Extension modules of this package, and the acl of somebody else."""

import importlib
import importlib.machinery
import importlib.util
import os
import sys

_SUFFIXES = tuple(importlib.machinery.EXTENSION_SUFFIXES)


def extension(name, package):
    """Imports an extension of this package; says for which Python it is built if it is not for this one."""
    try:
        return importlib.import_module(name, package)
    except ModuleNotFoundError as e:
        if e.name != package + name:
            raise
    # Without this, the failure under another Python speaks of a circular import.
    prefix = name[1:] + "."
    built = [found for found in os.listdir(os.path.dirname(__file__)) if found.startswith(prefix)]
    raise ImportError(
        "acl is built for %s, this is %s; use the Python it is built for, on Debian 12 /usr/bin/python3"
        % (", ".join(found.split(".")[1] for found in built) or "no Python at all", sys.implementation.cache_tag)
    ) from None


def _is_pyacl(spec):
    """Whether what was found is an extension module, or a package around one; this package has one of another name."""
    if isinstance(spec.loader, importlib.machinery.ExtensionFileLoader):
        return True
    for directory in spec.submodule_search_locations or ():
        try:
            names = os.listdir(directory)
        except OSError:
            continue
        if any(name.startswith("_prof.") for name in names):
            return False  # another copy of this package
        if spec.loader is not None and any(n.startswith("acl.") and n.endswith(_SUFFIXES) for n in names):
            return True
    return False


def find(name, own):
    """The spec of another acl in sys.path, or None. own: the directories of this package."""
    mine = {os.path.realpath(directory) for directory in own}
    for entry in sys.path:
        directory = os.path.join(entry or os.getcwd(), name)
        if os.path.realpath(directory) in mine:
            continue
        spec = importlib.machinery.PathFinder.find_spec(name, [entry])
        if spec is not None and _is_pyacl(spec):
            return spec
    return None


def load(spec, prof):
    """Makes the other acl the one that is imported, with our prof in it."""
    name, ours = spec.name, sys.modules[spec.name]
    try:
        module = importlib.util.module_from_spec(spec)
        # The import system takes what lies here when this package is done.
        sys.modules[name] = module
        spec.loader.exec_module(module)
    except ImportError as e:
        raise ImportError(
            f"the acl of {spec.origin} does not load: {e}; take its directory out of PYTHONPATH to use the acl of "
            f"{os.path.dirname(__file__)} alone", name=name, path=spec.origin
        ) from e
    finally:
        if sys.exc_info()[0] is not None:
            sys.modules[name] = ours
    module = sys.modules[name]
    module.prof = prof
    sys.modules[name + ".prof"] = prof

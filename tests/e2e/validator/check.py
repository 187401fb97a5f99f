# SPDX-License-Identifier: Apache-2.0
"""All rules on one directory."""
from . import files, metadata
from .device import DeviceCheck
from .host import HostCheck
from .report import Report
from .tree import Tree


def validate(path):
    """Checks the PROF_* directory at `path`. Returns a Report; raises ValueError if it is no such directory."""
    report = Report()
    tree = Tree(path)
    metas = metadata.check(tree, report)
    files.check(tree, metas, report)
    track = None
    if tree.host is not None:
        track = HostCheck(tree, metas["host"], report).run()
    for part in tree.devices:
        DeviceCheck(tree, part, metas[part.name], track, report).run()
    return report

# SPDX-License-Identifier: Apache-2.0
"""What runs in the guest. A suite is a command; it prints GoogleTest's lines or `ok NAME` / `not ok NAME` /
`skip NAME: why`. {build} is the build tree, {here} tests/kernel, {module} the module."""


class Suite:
    def __init__(self, command, seconds=60, about=""):
        self.command = command
        self.seconds = seconds
        self.about = about


SUITES = {
    "smoke": Suite("{here}/suites/smoke.sh {module}", 30, "the module loads and its devices appear"),
}

# SPDX-License-Identifier: Apache-2.0
"""python3 -m validator [--json] [--allow RULE,RULE] PROF_DIR... ; exit status 1 if a rule is broken."""
import argparse
import sys

from .check import validate
from .report import RULES


def main():
    parser = argparse.ArgumentParser(prog="validator", description="Checks PROF directories against the format.")
    parser.add_argument("directories", nargs="*", metavar="PROF_DIR")
    parser.add_argument("--json", action="store_true", help="print counts and findings as JSON")
    parser.add_argument("--allow", default="", metavar="RULE,...", help="rules that may be broken")
    parser.add_argument("--rules", action="store_true", help="list the rules and leave")
    options = parser.parse_args()
    if options.rules:
        for name, what in RULES.items():
            print(f"{name:20} {what}")
        return 0
    allowed = {r for r in options.allow.split(",") if r}
    unknown = sorted(allowed - RULES.keys())
    if unknown or not options.directories:
        parser.error(f"unknown rule {unknown[0]}; --rules lists them" if unknown else "name a PROF directory")
    bad = 0
    for directory in options.directories:
        try:
            report = validate(directory)
        except ValueError as e:
            print(e, file=sys.stderr)
            bad = 2
            continue
        report.without(allowed)
        if options.json:
            print(report.to_json())
        else:
            for line in report.lines():
                print(line)
            print(f"{directory}: {report.total() or 'no'} finding{'' if report.total() == 1 else 's'}")
        bad = max(bad, int(report.total() > 0))
    return bad


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""The script that frameworks look for beside msprof, and that older ones run: its verbs and options, done by npuprof.

usage: msprof.py import|query|export|analyze ... -dir DIRECTORY
"""
import argparse
import os
import pathlib
import subprocess
import sys

NPUPROF = pathlib.Path(__file__).resolve().parents[5] / "bin" / "npuprof"
FORMATS = {"timeline": "json,db", "summary": "csv", "db": "db"}
WRONG_DIRECTORY = 2


def profiles(directory):
    """The directory itself, or the PROF_* directories in it."""
    path = pathlib.Path(directory)
    if (path / "host" / "info.json").is_file() or any(path.glob("device_*/info.json.*")):
        return [path]
    return sorted(p for p in path.glob("PROF_*") if p.is_dir())


def main():
    parser = argparse.ArgumentParser(prog="msprof.py")
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in ("import", "query", "export", "analyze"):
        command = verbs.add_parser(verb)
        if verb == "export":
            command.add_argument("what", choices=sorted(FORMATS))
            for option in ("--format", "--model-id", "--iteration-id", "--iteration-count", "-reports"):
                command.add_argument(option, help="has no effect: everything is exported")
        if verb == "analyze":
            command.add_argument("-r", "--rule", default="communication,communication_matrix")
            command.add_argument("--type", choices=("text", "db"), default="text")
        command.add_argument("--clear", action="store_true", help="has no effect: nothing is left over")
        command.add_argument("-dir", "--collection-dir", dest="directory", required=True)
    arguments = parser.parse_args()
    found = profiles(arguments.directory.removeprefix("="))
    if not found:
        print(f"[ERROR] {arguments.directory} is no PROF directory and holds none")
        return WRONG_DIRECTORY
    for profile in found:
        words = ["info", str(profile)]
        if arguments.verb == "export":
            words = ["export", str(profile), "--format", FORMATS[arguments.what]]
        elif arguments.verb == "analyze":
            words = ["export", str(profile), "--format",
                     "communication-db" if arguments.type == "db" else "communication"]
        # What is said of failures goes where clients read: text on standard error counts as one.
        status = subprocess.run([os.fspath(NPUPROF), *words], stderr=subprocess.STDOUT).returncode
        if status != 0:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main())

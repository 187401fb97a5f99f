# SPDX-License-Identifier: Apache-2.0
"""Rules for names, slices and .done notes."""
import os
import re

from . import layout

_NAME = re.compile(r"^PROF_\d{6}_\d{17}_\d{8}[A-R]{8}$")
# What a collector writes at the top, what the public analysis adds, and the one directory of our own.
_TOP = re.compile(r"^(host|device_\d+|npuprof|mindstudio_profiler_(log|output)|analyze|query|msprof_.*\.db)$")
_PART = re.compile(r"^(data|sqlite|timeline|summary|(info\.json|start_info|end_info|host_start\.log|"
                   r"dev_start\.log)(\.\d+)?(\.done)?|sample\.json(\.done)?|.*\.complete)$")


def record_size(data_file, mode):
    """Bytes of a record; 1 for text, None for kinds the format does not know."""
    if data_file.frame == "api":
        return layout.API_RECORD
    if data_file.kind in layout.DICTIONARIES:
        return 1
    if data_file.frame == "compact":
        return layout.COMPACT_RECORD
    if data_file.frame == "additional":
        return layout.ADDITIONAL_RECORD
    if data_file.frame == "variable":
        return 1 if data_file.kind in layout.VARIABLE_KINDS else None
    if data_file.frame == "text":
        return 1 if data_file.kind in layout.HOST_TEXT else None
    if data_file.kind == "ffts_profile.data" and mode == "sample-based":
        return layout.SAMPLED_CORE_RECORD
    if data_file.kind in layout.DEVICE_TEXT or data_file.kind.startswith("instr."):
        return 1
    return layout.DEVICE_RECORDS.get(data_file.kind)


def _layout(tree, report):
    name = os.path.basename(tree.path)
    if not _NAME.match(name):
        report.add("layout", name, "is not named PROF_<6 digits>_<17 digits>_<8 digits><8 letters A to R>")
    for entry in tree.entries:
        if not _TOP.match(entry):
            report.add("layout", entry, "is nothing that belongs into a PROF directory")
    for part in tree.parts:
        for entry in part.entries:
            if not _PART.match(entry):
                report.add("layout", f"{part.name}/{entry}", "is nothing that belongs here")
        if "data" not in part.entries:
            report.add("layout", f"{part.name}/data", "is missing")
        for entry in part.odd:
            report.add("layout", f"{part.name}/data/{entry}", "is not named <name>.slice_<number>")
    for folder, folders, names in os.walk(tree.path):
        for entry in folders + names:
            path = os.path.join(folder, entry)
            if os.path.islink(path):
                report.add("path-characters", tree.relative(path), "is a symbolic link")
    bad = sorted(set(tree.path) & layout.REFUSED_CHARACTERS)
    if bad:
        report.add("path-characters", tree.path, f"holds {bad}, which readers refuse")


def _done_note(path, where, report):
    note = path + ".done"
    if not os.path.exists(note):
        report.add("done", where, "has no .done note")
        return
    with open(note, encoding="utf-8") as f:
        m = re.search(r"^filesize:(\d+)\s*$", f.read(), re.M)
    if not m:
        report.add("done", where, "the .done note lacks filesize:<bytes>")
    elif int(m[1]) != os.path.getsize(path):
        report.add("done", where, f"the .done note says {m[1]} bytes, the file has {os.path.getsize(path)}")


def _slices(tree, part, mode, report):
    for f in part.files.values():
        where = f"{part.name}/data/{f.name}"
        size = record_size(f, mode)
        if size is None:
            report.add("layout", where, "is a kind that readers do not know")
        if not part.is_host and f.device != part.device:
            report.add("ids", where, f"must end in the device id {part.device}")
        numbers = [n for n, _ in f.slices]
        first = numbers[0] if f.aging or not part.is_host else 0  # the oldest may have been deleted for space
        if numbers != list(range(first, first + len(numbers))):
            report.add("slice-numbers", where, f"slices are {numbers}")
        for _, path in f.slices:
            length = os.path.getsize(path)
            if size is not None and length % size:
                report.add("slice-records", tree.relative(path),
                           f"has {length} bytes, no multiple of the record size {size}")
            _done_note(path, tree.relative(path), report)


def check(tree, metas, report):
    """Checks names, slices and notes of every directory."""
    _layout(tree, report)
    for part in tree.parts:
        for entry in part.entries:
            path = os.path.join(part.path, entry)
            if os.path.isfile(path) and not entry.endswith((".done", ".complete")):
                _done_note(path, tree.relative(path), report)
        _slices(tree, part, metas[part.name].mode(), report)

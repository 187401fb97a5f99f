#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Profiles the demonstration in C++ and in Python, exports both, and compares every count with the model's own.
#
# usage: run.sh [BUILD_DIR [OUTPUT_DIR]]     (defaults: build/release and demo-out, both below the source tree)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
build=${1:-$root/build/release}
[[ $build == /* ]] || build=$root/$build
out=${2:-$root/demo-out}
clients=$build/tests/clients/bin
scenes=$build/tests/clients/scenes
model=$root/tools/npusim/models/resnet50_b1.json
mark="NPU (simulated): every device figure below comes from the simulated reference NPU and was not measured"

export PYTHONPATH=$build/python PYTHONDONTWRITEBYTECODE=1
export LD_LIBRARY_PATH=$build/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
unset NPUSIM_FAULT NPUPROF_RING_RECORDS

say() { printf '\n-- %s\n' "$*"; }
check() { /usr/bin/python3 "$here/check.py" "$@"; }

# The one PROF directory below $1.
prof_in() {
  local found=("$1"/PROF_*)
  if [ ${#found[@]} -ne 1 ] || [ ! -d "${found[0]}" ]; then
    echo "run.sh: $1 must hold one PROF directory" >&2
    return 1
  fi
  echo "${found[0]}"
}

if [ -e "$out" ] && [ ! -e "$out/.npuprof-demo" ] && [ -n "$(ls -A "$out")" ]; then
  echo "run.sh: $out holds files that are not of an earlier demonstration; name an empty or a new directory" >&2
  exit 2
fi
rm -rf "$out/cpp" "$out/python" "$out/stalled"
mkdir -p "$out"
touch "$out/.npuprof-demo"
mkdir -p "$out/cpp" "$out/python" "$out/stalled"
status=0

echo "$mark"
say "C++: ResNet-50 on two devices, images from disk, gradients exchanged, 20 steps"
"$clients/demo" "$out/cpp" "$model" "$scenes" "$out/cpp/totals.json"
prof=$(prof_in "$out/cpp")
"$build/bin/npuprof" export "$prof" --output "$out/cpp/tables"
say "first ten rows of op_summary"
check rows "$out/cpp/tables"
say "C++ run against the model's totals"
check sound "$prof" "$out/cpp/tables" "$out/cpp/totals.json" || status=1

say "what was planted in the C++ run, found in what was collected of the host"
check phases "$prof" "$out/cpp/tables" || status=1

say "Python: the same network and the same profiling calls, 20 steps"
/usr/bin/python3 "$here/demo.py" "$out/python" "$model" "$out/python/totals.json"
python_prof=$(prof_in "$out/python")
"$build/bin/npuprof" export "$python_prof" --output "$out/python/tables" >"$out/python/export.txt"
say "Python run against the model's totals"
check sound "$python_prof" "$out/python/tables" "$out/python/totals.json" || status=1
say "C++ run against Python run"
check same "$out/cpp/tables" "$out/python/tables" || status=1

say "C++ again with a stalled drain and rings of 256 records: the loss is counted to the last record"
NPUSIM_FAULT=stall_drain NPUPROF_RING_RECORDS=256 \
  "$clients/demo" "$out/stalled" "$model" "$scenes" "$out/stalled/totals.json" >"$out/stalled/steps.txt"
check stalled "$(prof_in "$out/stalled")" "$out/stalled/totals.json" || status=1

/usr/bin/python3 "$here/draw.py" "$out/cpp/tables" "$out/cpp/timeline.svg"

say "where to look"
echo "picture    $out/cpp/timeline.svg"
echo "tables     $out/cpp/tables/*.csv"
echo "timeline   $(ls "$out"/cpp/tables/msprof_[0-9]*.json)   (open it in ui.perfetto.dev)"
echo "raw data   $prof"
[ $status -eq 0 ] || echo "run.sh: some counts above do not agree" >&2
echo "$mark"
exit $status

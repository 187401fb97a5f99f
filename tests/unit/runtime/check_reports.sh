#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: check_reports.sh PROFILER LIBRARY...
# Of what the profiler exports each library takes public reporting functions, as any vendor's runtime does, the sentence
# of its last refusal for aclGetRecentErrMsg(), and nothing else, and looks no name up at run time.
set -e
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u >"$work/offered"
shift
for library; do
  name=$(basename "$library")
  nm -D --undefined-only "$library" | awk '{ sub(/@.*/, "", $2); print $2 }' | sort -u >"$work/wanted"
  comm -12 "$work/offered" "$work/wanted" >"$work/taken"
  if others=$(grep -vE '^(Msprof|npuprofTakeError$)' "$work/taken"); then
    echo "$name takes from the profiler more than reporting functions: $(echo $others)"
    exit 1
  fi
  for needed in MsprofReportApi MsprofReportCompactInfo MsprofReportAdditionalInfo MsprofRegTypeInfo MsprofGetHashId \
                MsprofRegisterCallback; do
    grep -qx "$needed" "$work/taken" || { echo "$name does not call $needed"; exit 1; }
  done
  if grep -qx dlsym "$work/wanted"; then
    echo "$name looks names up with dlsym, so what it takes cannot be told"
    exit 1
  fi
done

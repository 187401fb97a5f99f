#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: kunit.sh: what the KUnit suites of the loaded module said.
set -u
base=/sys/kernel/debug/kunit
[ -d "$base" ] || { echo "skip kunit: this kernel has no CONFIG_KUNIT"; exit 0; }
found=0
for results in "$base"/npuprof_*/results; do
  [ -f "$results" ] || continue
  suite=$(basename "$(dirname "$results")")
  cases=$(sed -n "s/^ \+\(ok\|not ok\) [0-9]\+ -\? \?\([a-z0-9_]\+\).*/\1 $suite.\2/p" "$results")
  [ -n "$cases" ] || { echo "not ok $suite"; cat "$results"; continue; }
  echo "$cases"
  case $cases in *"not ok"*) cat "$results" ;; esac
  found=$((found + 1))
done
[ "$found" -gt 0 ] || { echo "not ok kunit"; echo "the module was built without its suites"; }

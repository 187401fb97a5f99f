#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: kunit.sh TREE: what the KUnit suites of the loaded module said; each that kmod/tests has must have said something.
# Starts no other program: a debug kernel takes seconds to.
set -u
base=/sys/kernel/debug/kunit
[ -d "$base" ] || { echo "skip kunit: this kernel has no CONFIG_KUNIT"; exit 0; }
found=" "
for results in "$base"/npuprof_*/results; do
  [ -f "$results" ] || continue
  suite=${results%/results}
  suite=${suite##*/}
  said=$(<"$results")
  cases=
  while IFS= read -r line; do
    [[ $line =~ ^\ +(ok|not\ ok)\ [0-9]+\ -?\ ?([a-z0-9_]+) ]] || continue
    cases+="${BASH_REMATCH[1]} $suite.${BASH_REMATCH[2]}"$'\n'
  done <<<"$said"
  [ -n "$cases" ] || { echo "not ok $suite"; echo "$said"; continue; }
  printf '%s' "$cases"
  case $cases in *"not ok"*) echo "$said" ;; esac
  found+="$suite "
done
for source in "$1"/kmod/tests/*_test.c; do
  while IFS= read -r line; do
    [[ $line =~ ^[[:space:]]\.name\ =\ \"(npuprof_[a-z_]+)\" ]] || continue
    [[ $found == *" ${BASH_REMATCH[1]} "* ]] || echo "not ok ${BASH_REMATCH[1]}.ran"
  done <"$source"
done
[ "$found" != " " ] || { echo "not ok kunit"; echo "the module was built without its suites"; }

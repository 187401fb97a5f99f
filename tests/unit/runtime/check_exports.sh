#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: check_exports.sh LIBRARY PREFIX[,PREFIX...] ...
# Each library defines names of its prefixes only, and some of each.
set -e
while [ $# -gt 0 ]; do
  names=$(nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }')
  pattern="^($(echo "$2" | tr , '|'))"
  if extra=$(echo "$names" | grep -Ev "$pattern"); then
    echo "$1 also exports:"
    echo "$extra"
    exit 1
  fi
  for prefix in $(echo "$2" | tr , ' '); do
    echo "$names" | grep -q "^$prefix" || { echo "$1 exports nothing that begins with $prefix"; exit 1; }
  done
  shift 2
done

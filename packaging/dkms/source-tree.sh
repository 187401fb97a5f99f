#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes the module's sources the way DKMS wants them, to DIR/npuprof-VERSION, and prints that path.
set -eu
if [ $# -ne 1 ]; then
  echo "usage: source-tree.sh DIR     (DKMS looks in /usr/src)" >&2
  exit 2
fi
top=$(cd "$(dirname "$0")/../.." && pwd)
version=$(sed -n 's/^project(npuprof VERSION \([0-9.]*\).*/\1/p' "$top/CMakeLists.txt")
[ -n "$version" ] || { echo "source-tree.sh: no version in $top/CMakeLists.txt" >&2; exit 1; }
tree=$1/npuprof-$version
mkdir -p "$tree"
# Only what is part of the source: a build in the tree must not travel.
(cd "$top" && find kmod uapi \( -name '*.[ch]' -o -name Kbuild -o -name Makefile \) ! -name '*.mod.c' ! -path '*/.*') |
while read -r file; do
  install -D -m 644 "$top/$file" "$tree/$file"
done
sed "s/@VERSION@/$version/" "$top/packaging/dkms/dkms.conf" >"$tree/dkms.conf"
echo "$tree"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds the reference NPU as a shared object for the installed QEMU.
#
#   build.sh OUTDIR [x86_64|aarch64]      both without the second argument
#
# QEMU's headers are in no package of Debian's, so they come from its source package of exactly the installed
# version, through the machine's own package sources. It is kept below build/qemu-src; a second run needs no network.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
cache=$root/build/qemu-src

fail() { printf 'tools/npusim/qemu/build.sh: %s\n' "$*" >&2; exit 1; }

[ $# -ge 1 ] && [ $# -le 2 ] || { echo "usage: $0 OUTDIR [x86_64|aarch64]" >&2; exit 2; }
outdir=$1
case ${2:-both} in
  both) targets=(x86_64 aarch64) ;;
  x86_64 | aarch64) targets=("$2") ;;
  *) echo "$0: target \"$2\" is not known; allowed are x86_64 and aarch64" >&2; exit 2 ;;
esac

declare -A package=([x86_64]=qemu-system-x86 [aarch64]=qemu-system-arm)

# version TARGET: the version of the source package that the installed emulator was built from.
version() {
  local line
  line=$(dpkg-query -W -f '${db:Status-Status} ${source:Version}' "${package[$1]}" 2>/dev/null) || line=
  [ "${line%% *}" = installed ] || fail "the Debian package ${package[$1]} is not installed"
  printf '%s\n' "${line#* }"
}

# The machine's own sources, asked for source packages, in a private place: nothing of the system's is changed.
private_lists() {
  local lists=$1 file
  mkdir -p "$lists/parts" "$lists/state/partial" "$lists/archives/partial"
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -f "$file" ] || continue
    sed -n 's/^[[:space:]]*deb\([[:space:]]\)/deb-src\1/p' "$file" > "$lists/parts/$(basename "$file" .list).list"
  done
  for file in /etc/apt/sources.list.d/*.sources; do
    [ -f "$file" ] || continue
    sed 's/^Types:.*/Types: deb-src/I' "$file" > "$lists/parts/$(basename "$file")"
  done
}

# fetch VERSION DIR: leaves the patched source in DIR/src.
fetch() {
  local version=$1 dir=$2 lists=$2/apt
  command -v dpkg-source >/dev/null || fail "dpkg-source is missing; install the Debian package dpkg-dev"
  private_lists "$lists"
  local options=(-q -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$lists/parts"
                 -o "Dir::State::lists=$lists/state" -o "Dir::Cache=$lists" -o APT::Sandbox::User=)
  # A source of somebody else's that has no source packages makes this fail; what counts is whether QEMU is found.
  apt-get "${options[@]}" update >"$dir/apt.log" 2>&1 || true
  (cd "$dir" && apt-get "${options[@]}" --only-source source "qemu=$version") >>"$dir/apt.log" 2>&1 ||
    fail "the source package qemu $version cannot be had from this machine's package sources (see $dir/apt.log); \
if the installed QEMU is older than the archive's, update it"
  rm -rf "$dir/src"
  mv "$dir"/qemu-*/ "$dir/src"
  rm -rf "$lists" "$dir"/qemu_*
}

# generate DIR: the headers that QEMU's own build would make, as far as a device needs them.
generate() {
  local src=$1/src gen=$1/gen arch
  arch=$(uname -m)
  rm -rf "$gen"
  mkdir -p "$gen/qapi"
  (cd "$src" && python3 -B scripts/qapi-gen.py -o "$gen/qapi" -b qapi/qapi-schema.json)
  : > "$gen/config-poison.h"  # lists what only code of one target may name; nothing here does
  cat > "$gen/config-host.h" <<TEXT
#define CONFIG_POSIX 1
#define CONFIG_LINUX 1
#define HOST_${arch^^} 1
#define CONFIG_EVENTFD 1
#define CONFIG_INT128 1
#define CONFIG_IOVEC 1
#define CONFIG_MADVISE 1
#define CONFIG_SYSMACROS 1
#define HAVE_STRCHRNUL 1
#define HAVE_STRUCT_STAT_ST_ATIM 1
#define QEMU_VERSION "$(cat "$src/VERSION")"
TEXT
}

# source_tree VERSION: prints the directory with src/ and gen/.
source_tree() {
  local version=$1
  local dir=$cache/${version//[^A-Za-z0-9.+~-]/_}
  if [ ! -f "$dir/complete" ]; then
    mkdir -p "$dir"
    exec 9>"$dir/lock"
    flock 9
    if [ ! -f "$dir/complete" ]; then
      fetch "$version" "$dir"
      generate "$dir"
      touch "$dir/complete"
    fi
    exec 9>&-
  fi
  printf '%s\n' "$dir"
}

build() {
  local target=$1 tree flags=() file
  tree=$(source_tree "$(version "$target")")
  local out=$outdir/refnpu-qemu-$target.so objects
  objects=$(mktemp -d)
  read -ra flags <<< "$(pkg-config --cflags glib-2.0 pixman-1)" || fail "libglib2.0-dev or libpixman-1-dev is missing"
  local common=(-std=gnu11 -O2 -g -fPIC -fvisibility=hidden -fno-strict-aliasing -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64
                -D_LARGEFILE_SOURCE "-ffile-prefix-map=$root/=")
  local own=("-I$root/tools/npusim/model" "-I$root/kmod" "-I$root/uapi" "-I$here")
  # The model and the engine of the port know nothing of QEMU; the rest sees its headers as its own devices do.
  for file in "$root"/tools/npusim/model/*.c "$here"/port_*.c; do
    ${CC:-cc} "${common[@]}" -Wall -Wextra -Werror "${own[@]}" -c "$file" -o "$objects/$(basename "$file" .c).o"
  done
  for file in "$here"/refnpu_*.c; do
    (cd "$tree/src" && ${CC:-cc} "${common[@]}" -Wall -Werror -Wno-missing-braces "-I$tree/gen" "-I$tree/gen/qapi" \
      "${own[@]}" -Iinclude -I. -iquote . -iquote include -isystem linux-headers "${flags[@]}" \
      -c "$file" -o "$objects/$(basename "$file" .c).o")
  done
  mkdir -p "$outdir"
  # Its own name first: whoever has the old file mapped keeps it.
  ${CC:-cc} -shared -Wl,-z,now -o "$out.new" "$objects"/*.o
  mv "$out.new" "$out"
  rm -rf "$objects"
  printf '%s\n' "$out"
}

for target in "${targets[@]}"; do build "$target"; done

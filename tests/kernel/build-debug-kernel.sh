#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the kernel of `./dev lab debug` from Debian's source and leaves it where the lab looks for it:
# build/lab/debug-kernel/{bzImage,headers}. About a quarter of an hour on two quiet cores, 4 GB of disk.
#
# usage: build-debug-kernel.sh [--configure] [DIRECTORY]
# --configure: stop once the configuration is complete and checked
# DIRECTORY: where it goes instead, for NPUPROF_DEBUG_KERNEL; what it takes to build it goes there, too
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

fail() { printf 'build-debug-kernel.sh: %s\n' "$*" >&2; exit 1; }

configure_only=
if [ "${1:-}" = --configure ]; then
  configure_only=yes
  shift
fi
case $#:${1:-} in
  0:) work=$root/build/lab out=$root/build/lab/debug-kernel ;;
  1:-* | 1:) misused=yes ;;
  1:*) work=$(realpath -m -- "$1") out=$work ;;
  *) misused=yes ;;
esac
[ -z "${misused:-}" ] || { echo "usage: $0 [--configure] [DIRECTORY]" >&2; exit 2; }
[ "$(uname -m)" = x86_64 ] || fail "this is a kernel for x86_64 and no cross-compiler is set up here, but this is $(uname -m)"
missing=
for tool in flex bison bc lz4 gcc make; do command -v "$tool" >/dev/null || missing="$missing $tool"; done
for header in libelf.h openssl/opensslv.h; do
  echo "#include <$header>" | gcc -E - >/dev/null 2>&1 || missing="$missing $header"
done
[ -z "$missing" ] || fail "missing:$missing; install flex bison bc lz4 libelf-dev libssl-dev"

# source_tree: prints the directory of Debian's kernel source, fetched once.
source_tree() {
  local tree=$work/source
  if [ ! -f "$tree/complete" ]; then
    rm -rf "$tree"
    PYTHONDONTWRITEBYTECODE=1 python3 - "$here/lab" "$work" "$tree" <<'PYTHON'
import sys
sys.path.insert(0, sys.argv[1])
from apt import Apt
apt = Apt(sys.argv[2])
apt.unpack("linux-source-6.1", apt.newest("linux-source-6.1")["Version"], sys.argv[3])
PYTHON
    tar -C "$tree" --strip-components=1 -xf "$tree"/usr/src/linux-source-6.1.tar.xz
    rm -rf "$tree/usr"/src
    touch "$tree/complete"
  fi
  printf '%s\n' "$tree"
}

# An option that the kernel's own rules turn back would silently check nothing.
check_config() {
  local line name bad=
  while read -r line; do
    case $line in
      CONFIG_*=*) grep -qxF "$line" "$1" || bad="$bad $line" ;;
      "# CONFIG_"*" is not set")
        name=${line#\# }
        grep -q "^${name%% *}=" "$1" && bad="$bad !${name%% *}" ;;
    esac
  done <"$here/debug-kernel.config"
  [ -z "$bad" ] || fail "the kernel's rules do not keep:$bad"
}

tree=$(source_tree)
mkdir -p "$out/build"
cp "$here/debug-kernel.config" "$out/build/.config"
make -s -C "$tree" O="$out/build" olddefconfig
check_config "$out/build/.config"
if [ -n "$configure_only" ]; then
  echo "configuration complete: $out/build/.config"
  exit 0
fi
# Whatever happens below, no kernel stays behind that does not fit the tree which modules are built against.
rm -f "$out/bzImage"
make -C "$tree" O="$out/build" -j "${NPUPROF_JOBS:-$(nproc)}" bzImage modules
cp "$out/build/arch/x86/boot/bzImage" "$out/bzImage"
# Modules are built against the build tree itself.
ln -sfn build "$out/headers"
echo "the debug kernel is in $out"

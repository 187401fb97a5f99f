#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks of the kernel module's sources that need no kernel to run.
#
# usage: module.sh CHECK TREE WORKDIR     (CHECK: version, warnings, without-perf, kernel-doc, record-path, checkpatch, dkms; exit 77: cannot run here)
set -eu
check=$1 tree=$2 work=$3
version=$(ls /usr/src | sed -n 's/^linux-headers-\([0-9].*-amd64\)$/\1/p' | grep -v -e rt -e cloud | sort -V | tail -n 1)
headers=/usr/src/linux-headers-$version

skip() { echo "skipped: $*"; exit 77; }
# The result goes to the end of the log as well: whoever reads that later sees what was looked at.
say() { echo "$*" | tee -a "$work/log"; }
fail() { echo "module.sh: $*" >&2; exit 1; }

[ -n "$version" ] || skip "no kernel headers in /usr/src (package linux-headers-amd64)"
rm -rf "$work" && mkdir -p "$work"

# In a copy: a build leaves its products beside the sources.
copy() { "$tree/packaging/dkms/source-tree.sh" "$work"; }

case $check in
version)
  # What `npuprof info --device` shows beside the library's.
  tree_version=$(sed -n 's/^project(npuprof VERSION \([0-9.]*\).*/\1/p' "$tree/CMakeLists.txt")
  module_version=$(sed -n 's/^MODULE_VERSION("\(.*\)");/\1/p' "$tree/kmod/module.c")
  [ -n "$tree_version" ] || fail "CMakeLists.txt names no version"
  [ "$tree_version" = "$module_version" ] || fail "the tree has version $tree_version, the module $module_version"
  ;;
warnings)
  command -v sparse >/dev/null || skip "sparse is not installed"
  source=$(copy)
  make -C "$source/kmod" KDIR="$headers" W=1 C=2 >"$work/log" 2>&1 || { cat "$work/log"; fail "the module does not build"; }
  test -f "$source/kmod/npuprof.ko" || fail "make succeeded without npuprof.ko"
  # BTF for modules needs a vmlinux, which header packages do not have.
  ! grep -E '(warning|error):' "$work/log" || fail "the compiler (W=1) or sparse complains, see above"
  say "built and checked $(grep -c '^  CHECK ' "$work/log") sources for $version with W=1 C=2, no complaint"
  ;;
without-perf)
  source=$(copy)
  make -C "$source/kmod" KDIR="$headers" W=1 NPUPROF_PERF=n >"$work/log" 2>&1 || { cat "$work/log"; fail "the module does not build"; }
  ! grep -E '(warning|error):' "$work/log" || fail "the compiler (W=1) complains, see above"
  ! nm "$source/kmod/npuprof.ko" | grep -E ' U (perf_pmu_|perf_event_|__cpuhp)' || fail "the module built without perf wants it all the same, see above"
  say "built for $version without perf, no complaint"
  ;;
kernel-doc)
  script=$(ls /usr/lib/linux-kbuild-*/scripts/kernel-doc 2>/dev/null | tail -n 1)
  [ -n "$script" ] || skip "no kernel-doc (package linux-kbuild-6.1)"
  # All that it can complain of: -Wall where it knows that, before that -v.
  all=-v
  ! grep -q -- -Wall "$script" || all=-Wall
  perl "$script" -none $all -Werror "$tree"/uapi/*.h "$tree"/kmod/*.[ch] "$tree"/kmod/core/*.[ch] >"$work/log" 2>&1 ||
    { cat "$work/log"; fail "kernel-doc complains, see above"; }
  ! grep -E '(warning|error):' "$work/log" || fail "kernel-doc complains, see above"
  python3 -B "$(dirname "$0")/functions.py" "$tree" || fail "functions are not documented in full, see above"
  # All of the contract is documented, not only what happens to have a comment.
  for struct in $(sed -n 's/^struct \(npuprof_[a-z_]*\) {.*/\1/p' "$tree"/uapi/npuprof.h "$tree"/uapi/npuprof_records.h); do
    grep -q "^ \* struct $struct - " "$tree"/uapi/npuprof.h "$tree"/uapi/npuprof_records.h || fail "struct $struct has no kernel-doc"
  done
  say "kernel-doc: $(ls "$tree"/uapi/*.h "$tree"/kmod/*.[ch] "$tree"/kmod/core/*.[ch] | wc -l) files, no complaint"
  ;;
record-path)
  python3 -B "$(dirname "$0")/record_path.py" "$tree" || fail "the record path does what it must not, see above"
  ;;
checkpatch)
  script=
  for place in "$tree/../shared/kernel-debug/checkpatch" "$headers/scripts" "${NPUPROF_CHECKPATCH_DIR:-/nonexistent}"; do
    [ -f "$place/checkpatch.pl" ] && script=$place/checkpatch.pl && break
  done
  [ -n "$script" ] || skip "no checkpatch.pl (name its directory in NPUPROF_CHECKPATCH_DIR)"
  cd "$tree"
  git ls-files 'uapi/*.h' 'kmod/*.[ch]' >"$work/files"
  judge() { # files, options
    xargs perl "$script" --strict --no-tree --show-types "$@" -f >>"$work/log" 2>&1 || true
  }
  grep -v '^kmod/compat\.h$' "$work/files" | judge
  # LINUX_VERSION_CODE: this file is there to build for several kernels, which code in the kernel's tree need not.
  # CONSTANT_COMPARISON: KERNEL_VERSION() is taken for the name of a constant on the wrong side; it is on the right one.
  echo kmod/compat.h | judge --ignore LINUX_VERSION_CODE,CONSTANT_COMPARISON
  ! grep -A 3 -E '^(ERROR|WARNING|CHECK):' "$work/log" || fail "checkpatch complains, see above"
  checked=$(grep -c 'has no obvious style problems' "$work/log") || true
  [ "$checked" -eq "$(wc -l <"$work/files")" ] || fail "checkpatch looked at $checked of $(wc -l <"$work/files") files"
  say "checkpatch --strict: $checked files, no complaint"
  ;;
dkms)
  command -v dkms >/dev/null || skip "dkms is not installed"
  [ "$(id -u)" -eq 0 ] || skip "dkms wants root"
  name=$(basename "$(copy)")
  mkdir "$work/tree"
  dkms build -m npuprof -v "${name#npuprof-}" --sourcetree "$work" --dkmstree "$work/tree" -k "$version" \
    --kernelsourcedir "$headers" >"$work/log" 2>&1 || { cat "$work/log"; fail "dkms build failed"; }
  find "$work/tree" -name 'npuprof.ko*' | grep . || fail "dkms built no module"
  ;;
*)
  fail "unknown check '$check'; one of version, warnings, without-perf, kernel-doc, record-path, checkpatch, dkms"
  ;;
esac

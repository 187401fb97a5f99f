#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: load.sh MODULE: the module loads, its devices appear, it goes and comes back. Leaves it loaded.
# As few programs as possible: a debug kernel takes seconds to start one.
set -u
shopt -s nullglob

check() {
  local name=$1
  shift
  if "$@"; then echo "ok $name"; else echo "$* says no"; echo "not ok $name"; fi
}

devices=0
for file in /sys/bus/pci/devices/*/{vendor,device}; do
  read -r number <"$file"
  [ "$number" != 0x4e50 ] || devices=$((devices + 1))
done
nodes() {
  local found=(/dev/npuprof[0-9]*)
  [ ${#found[@]} -eq "$1" ]
}

check machine_has_devices test "$devices" -gt 0
check insmod insmod "$1"
check a_node_per_device nodes "$devices"
check nodes_are_for_root_alone test "$(stat -c %a /dev/npuprof0)" = 600
check class_names_them test -d /sys/class/npuprof/npuprof0
exec 9<>/dev/npuprof0
if rmmod npuprof 2>/dev/null; then echo "not ok rmmod_refused_while_in_use"; else echo "ok rmmod_refused_while_in_use"; fi
exec 9>&-
check rmmod rmmod npuprof
check no_node_without_a_driver nodes 0
# A debug kernel puts off the last step of a device by up to four seconds. Code of the module that runs then is gone.
if [[ $(dmesg) == *kobject_release*delayed* ]]; then
  sleep 5
  said=$(dmesg)
  check nothing_of_the_module_is_needed_after_rmmod test "${said/unable to handle page fault/}" = "$said"
fi
check insmod_again insmod "$1"
check nodes_are_back nodes "$devices"

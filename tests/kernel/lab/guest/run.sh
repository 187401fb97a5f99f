#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# First process of the guest from init on, in the host's files: runs the suites of /dev/lab/plan one after the other.
# Each line of the plan: name, seconds it may take, command; separated by tabs. What a suite prints goes to
# /dev/lab/NAME.log, its exit code to NAME.rc. The kernel's log goes to the console, with a mark at every suite.
set -u
results=/dev/lab

leave() {
  sync
  if [ "$LAB_EXIT" = port ]; then
    # isa-debug-exit: QEMU leaves with 2 * code + 1.
    printf "\\$(printf %o "$1")" | dd of=/dev/port bs=1 seek=244 count=1 2>/dev/null
  fi
  echo "lab: RESULT $1"
  /tmp/busybox poweroff -f
  sleep 60
}

mark() { echo "lab: $*" >/dev/kmsg; }
. "$(dirname "$0")/health.sh"

# From here on the console carries all that the kernel says, but for debugging output.
dmesg -n 7
echo 0 >/proc/sys/kernel/printk_ratelimit
# Leaks are looked for once, at the end.
! looks_for_leaks || echo scan=off >/sys/kernel/debug/kmemleak
. "$(dirname "$0")/port.sh"
mark "begin"
health begin

while IFS=$'\t' read -r name seconds command; do
  mark "suite $name"
  start=$EPOCHREALTIME
  timeout --kill-after=5 "$seconds" /bin/bash -c "$command" >"$results/$name.log" 2>&1 </dev/null
  code=$?
  end=$EPOCHREALTIME
  echo "$code $(((${end/./} - ${start/./}) / 1000))" >"$results/$name.rc"
done <"$results/plan"

mark "end"
! looks_for_leaks || {
  # Objects count as leaked only when they are some seconds old and two scans agree.
  sleep 6
  echo scan >/sys/kernel/debug/kmemleak
  echo scan >/sys/kernel/debug/kmemleak
  cat /sys/kernel/debug/kmemleak >"$results/kmemleak"
}
health end
mark "done"
leave 0

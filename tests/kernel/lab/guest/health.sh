# SPDX-License-Identifier: Apache-2.0
# Sourced by the guest's first process: what the kernel counts of its own troubles, as a line of its log. A kernel may have
# been told or configured not to speak of them. What this kernel does not count is left out.
health() {
  line="lab: health $1"
  [ ! -r /proc/lockdep_stats ] || line="$line lockdep=$(awk '/debug_locks:/ { print $2 }' /proc/lockdep_stats)"
  [ ! -r /sys/kernel/debug/dma-api/error_count ] || line="$line dma-api=$(cat /sys/kernel/debug/dma-api/error_count)"
  [ ! -r /sys/kernel/debug/debug_objects/stats ] ||
    line="$line objects=$(awk '/^warnings/ { sub(/.*:/, ""); print $1 }' /sys/kernel/debug/debug_objects/stats)"
  [ ! -e /sys/kernel/debug/kmemleak ] || line="$line kmemleak=$(kmemleak_works)"
  echo "$line" >/dev/kmsg
}

# A kernel that ran out of memory for it stops looking for leaks, and its list then is empty.
kmemleak_works() {
  if echo clear >/sys/kernel/debug/kmemleak 2>/dev/null; then echo 1; else echo 0; fi
}

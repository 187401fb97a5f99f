# SPDX-License-Identifier: Apache-2.0
# Sourced by the guest's first process: what the kernel counts of its own troubles, as a line of its log. A kernel may have
# been told or configured not to speak of them. What this kernel does not count is left out.
health() {
  line="lab: health $1"
  [ ! -r /proc/lockdep_stats ] || line="$line lockdep=$(counted debug_locks /proc/lockdep_stats)"
  if [ -r /sys/kernel/debug/dma-api/error_count ]; then
    read -r value </sys/kernel/debug/dma-api/error_count
    line="$line dma-api=$value"
  fi
  [ ! -r /sys/kernel/debug/debug_objects/stats ] ||
    line="$line objects=$(counted warnings /sys/kernel/debug/debug_objects/stats)"
  ! looks_for_leaks || line="$line kmemleak=$(kmemleak_works)"
  echo "$line" >/dev/kmsg
}

# counted NAME FILE: the number behind NAME and a colon. Without another program: a debug kernel takes long to start one.
counted() {
  while IFS=: read -r name value; do
    case $name in *"$1"*) echo $value ;; esac
  done <"$2"
}

# Whether this kernel does, and was not told not to.
looks_for_leaks() {
  [ -e /sys/kernel/debug/kmemleak ] || return 1
  read -r words </proc/cmdline
  case " $words " in *" kmemleak=off "*) return 1 ;; esac
}

# A kernel that ran out of memory for it stops looking for leaks, and its list then is empty. It refuses orders then, but for
# that to clear the list. Scans of its own are not wanted anyway.
kmemleak_works() {
  if echo scan=off >/sys/kernel/debug/kmemleak 2>/dev/null; then echo 1; else echo 0; fi
}

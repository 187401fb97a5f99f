# SPDX-License-Identifier: Apache-2.0
# Sourced by the guest's first process: where the runtime's tasks reach the devices (see NPUSIM_PORT), in a machine that has
# such a port. The host tells the guest its name some time after the driver found it.
read -r words </proc/cmdline
case " $words " in
  *" lab.port=npusim "*)
    for second in 0 1 2 3 4 5 6 7 8 9; do
      for name in /sys/class/virtio-ports/*/name; do
        [ -r "$name" ] && read -r port <"$name" && [ "$port" = npusim ] || continue
        port=${name%/name}
        port=/dev/${port##*/}
        [ -c "$port" ] && export NPUSIM_PORT="$port"
      done
      [ -z "${NPUSIM_PORT:-}" ] || break
      sleep 1
    done
    [ -n "${NPUSIM_PORT:-}" ] || mark "the port to the emulated devices did not come in $second seconds"
    ;;
esac

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles each source of kmod/core the way a kernel module is compiled, as far as that goes outside of a kernel
# tree, and checks that the objects ask for nothing but memcpy and memset.
#   kernel_like.sh COMPILER TREE OUTPUT-DIR SOURCE...
set -eu
cc=$1 tree=$2 out=$3
shift 3
case $(uname -m) in
  x86_64) machine="-mno-sse -mno-mmx -mno-80387 -mcmodel=kernel -mno-red-zone" ;;
  aarch64) machine="-mgeneral-regs-only" ;;
  *) machine="" ;;
esac
[ $# -gt 0 ] || { echo "no sources given"; exit 1; }
for source; do
  object=$out/kernel_like_$(basename "$source" .c).o
  # shellcheck disable=SC2086
  "$cc" -std=gnu11 -O2 -ffreestanding -fno-pic -fno-stack-protector -fno-strict-aliasing $machine \
    -Wall -Wextra -Werror -Wdeclaration-after-statement -Wvla -Wundef -Wstrict-prototypes -Wmissing-prototypes \
    -Wframe-larger-than=1024 -I"$tree/uapi" -I"$tree/kmod" -c "$source" -o "$object"
  foreign=$(nm -u "$object" | awk '$2 !~ /^(memcpy|memset|npc_.*)$/ {print $2}')
  [ -z "$foreign" ] || { echo "$source needs: $foreign"; exit 1; }
done
echo "$# sources"

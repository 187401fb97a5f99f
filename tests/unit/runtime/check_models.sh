#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The shipped operator lists are byte for byte what generate.py writes, no more and no fewer.
set -e
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 "$1/generate.py" "$dir"
[ "$(cd "$dir" && ls)" = "$(cd "$1" && ls -- *.json)" ]
for f in "$dir"/*.json; do cmp "$f" "$1/$(basename "$f")"; done

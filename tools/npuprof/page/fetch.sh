#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetches what the page is made of beside its own files, as package-lock.json names it, into a directory.
#
# usage: fetch.sh DIR    (status 0: it is there; else one sentence says why not)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
to=$1
if [ -d "$to/node_modules/uplot" ] && cmp -s "$here/package-lock.json" "$to/fetched"; then exit 0; fi
command -v npm >/dev/null || { echo "npm is not installed"; exit 1; }
mkdir -p "$to"
cp "$here/package.json" "$here/package-lock.json" "$here/.npmrc" "$to"
# npm would try for minutes where nothing answers.
if ! timeout 120 npm ci --prefix "$to" --ignore-scripts --no-audit --no-fund --fetch-retries=1 --fetch-retry-mintimeout=1000 \
    --fetch-timeout=20000 >"$to/npm.log" 2>&1; then
  rm -f "$to/fetched"
  echo "npm could not fetch uPlot; its output is in $to/npm.log"
  exit 1
fi
cp "$here/package-lock.json" "$to/fetched"

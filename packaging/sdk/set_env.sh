# SPDX-License-Identifier: Apache-2.0
# Source this file (bash, zsh) to build and run programs with this SDK: source DIR/set_env.sh
_npuprof_sdk=$(cd "$(dirname "${BASH_SOURCE[0]:-$0}")" && pwd)
export ASCEND_TOOLKIT_HOME=$_npuprof_sdk
export ASCEND_HOME_PATH=$_npuprof_sdk
export LD_LIBRARY_PATH=$_npuprof_sdk/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PYTHONPATH=$_npuprof_sdk/python${PYTHONPATH:+:$PYTHONPATH}
export PATH=$_npuprof_sdk/bin:$PATH
export MANPATH=$_npuprof_sdk/share/man:${MANPATH:-}
export PKG_CONFIG_PATH=$_npuprof_sdk/lib64/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export CMAKE_PREFIX_PATH=$_npuprof_sdk${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}
unset _npuprof_sdk

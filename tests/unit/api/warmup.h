// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "npuprof/acl_prof_loaded.h"

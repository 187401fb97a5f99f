/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of the aclprof interface that its header does not have: programs look them up by name in libmsprofiler.so.
 * Threads, messages and codes as in acl/acl_prof.h.
 */
#ifndef NPUPROF_ACL_PROF_LOADED_H
#define NPUPROF_ACL_PROF_LOADED_H

#include <stdbool.h>

#include "acl/acl_prof.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Makes a session ready, so that aclprofStart() only has to begin its window. Nothing from before that Start is recorded.
 * @return 0; 100000 NULL, nothing to collect, or a counter group the chip lacks; 100003 directory; 100042; 100043 before
 *         aclprofInit(); 148047 a session runs or is ready already, or a model is subscribed; 200007 unknown bit; 500005
 */
ACL_FUNC_VISIBILITY int aclprofWarmup(const aclprofConfig *profilerConfig);

/* What the library can beyond the oldest version of the interface. */

/**
 * One feature, 272 bytes. Programs written in C++ read it as an object of two classes with virtual functions, so the
 * two pointers are those of tables of functions.
 */
struct aclprofFeature {
  const void *table;
  char featureName[64];
  const void *infoTable;
  char compatibility[16]; /* "1": later versions do what earlier ones did */
  char featureVersion[16];
  char affectedComponent[16];
  char affectedComponentVersion[16];
  char infoLog[128];
};

/**
 * The features: ATTR and AICORE_SHAPE, and MemoryAccess in the second function.
 * @param featuresData must lead to NULL; gets an array of struct aclprofFeature that the library owns
 * @return 0; 100000
 */
ACL_FUNC_VISIBILITY int aclprofGetSupportedFeatures(size_t *featuresSize, void **featuresData);
ACL_FUNC_VISIBILITY int aclprofGetSupportedFeaturesV2(size_t *featuresSize, void **featuresData);

/** From now on until aclprofFinalize(), sessions take in devices that no list names when the program opens them. @return 0 */
ACL_FUNC_VISIBILITY int aclprofRegisterDeviceCallback(void);

/* More about stamps. Failures are -1. */

/** Names a category; the manifest of the session tells it. @return 0; -1 without a session with ACL_PROF_MSPROFTX */
ACL_FUNC_VISIBILITY int32_t aclprofSetCategoryName(uint32_t category, const char *categoryName);
ACL_FUNC_VISIBILITY int32_t aclprofSetStampCategory(void *stamp, uint32_t category);
/** Keeps the type; the value is not read, because nobody has published how long values of each type are. */
ACL_FUNC_VISIBILITY int32_t aclprofSetStampPayload(void *stamp, const int32_t type, void *value);

/* Of the first generation; nobody documents these any more. */

/** Turns stamps off and on within a session. Each session begins with them on. */
ACL_FUNC_VISIBILITY void aclprofMsproftxSwitch(bool isOpen);
/** Judge their arguments and keep nothing: records have no room for it. @return 0; -1 */
ACL_FUNC_VISIBILITY aclError aclprofSetStampTagName(void *stamp, const char *tagName, uint16_t len);
ACL_FUNC_VISIBILITY aclError aclprofSetStampCallStack(void *stamp, const char *callStack, uint32_t len);
/** Records of a framework's own format, which no reader of today knows, are not taken. @return 200006 */
ACL_FUNC_VISIBILITY aclError aclprofReportStamp(const char *tag, unsigned int tagLen, unsigned char *data,
                                                unsigned int dataLen);

#ifdef __cplusplus
}
#endif
#endif /* NPUPROF_ACL_PROF_LOADED_H */

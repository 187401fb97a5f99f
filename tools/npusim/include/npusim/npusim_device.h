/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated NPU of this process, seen the way a profiler sees /dev/npuprof<N>.
 *
 * libruntime exports these functions; libaclprof finds them with dlsym() and so drives exactly the device that
 * the simulated runtime in the process drives, without linking to it. Requests, rings and records are those of
 * uapi/npuprof.h; each function mirrors one system call and reports failure as a negative errno.
 *
 * Where NPUSIM_PORT is set the runtime drives NPUs that are not in this process: a virtual machine's, which the kernel
 * has devices for. Every function that can fail then returns -EREMOTE.
 *
 * All functions may be called from any thread. A session must not be closed while another thread is in a call
 * on the same handle.
 */
#ifndef NPUSIM_DEVICE_H
#define NPUSIM_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NPUSIM_EXPORT __attribute__((visibility("default")))

/** Number of simulated devices (NPUSIM_DEVICES), or -EREMOTE. */
NPUSIM_EXPORT int npusim_dev_count(void);

/** Version of the simulated runtime, such as "0.1.0". Never fails. */
NPUSIM_EXPORT const char *npusim_dev_version(void);

/**
 * Opens a profiling session on device @p device_id, as open("/dev/npuprof<device_id>") would.
 * @return handle >= 0, or -ENODEV (no such device), -EMFILE (too many sessions or open files), -ENOMEM;
 *         -EOWNERDEAD, here and below, in a child forked from a process that used devices; of one that only counted them, the
 *         child has devices of its own
 */
NPUSIM_EXPORT int npusim_dev_open(uint32_t device_id);

/** Releases the session, its rings and mappings. @return 0 or -EBADF */
NPUSIM_EXPORT int npusim_dev_close(int handle);

/**
 * Carries out one request NPUPROF_IOC_* with its structure @p arg.
 * @return 0 or the negative errno documented in uapi/npuprof.h
 */
NPUSIM_EXPORT int npusim_dev_ioctl(int handle, unsigned long request, void *arg);

/**
 * Maps the area at @p offset (NPUPROF_MMAP_*), valid until npusim_dev_close().
 * @param length bytes wanted; at most the size of the area rounded up to a page
 * @return 0, or -EINVAL; the address goes to @p address
 */
NPUSIM_EXPORT int npusim_dev_mmap(int handle, uint64_t offset, size_t length, void **address);

/**
 * A file descriptor that becomes readable when a ring passes its watermark or latency; read eight bytes to
 * clear it (an eventfd, which cannot hang up: the states of the rings tell of the end). Belongs to the session.
 * @return descriptor, or -EBADF
 */
NPUSIM_EXPORT int npusim_dev_poll_fd(int handle);

/** Memory of one device that one module holds; modules are numbered as published readers number them. */
typedef struct npusim_dev_module {
  uint32_t module; /**< 3 collectives, 33 the program */
  uint32_t reserved;
  uint64_t bytes;
} npusim_dev_module;

/**
 * Which modules hold memory of device @p device_id now, or held some before (0 bytes then). No device needs to be opened
 * for it, and it waits for nobody.
 * @param room how many lines @p modules has room for
 * @return how many there are, more than @p room if some found none; -ENODEV (no such device)
 */
NPUSIM_EXPORT int npusim_dev_module_memory(uint32_t device_id, npusim_dev_module *modules, uint32_t room);

#ifdef __cplusplus
}
#endif
#endif /* NPUSIM_DEVICE_H */

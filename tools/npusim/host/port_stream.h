/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NPUSIM_HOST_PORT_STREAM_H
#define NPUSIM_HOST_PORT_STREAM_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "model/npusim_port.h"

namespace npusim {

/**
 * Messages of model/npusim_port.h over a descriptor that never blocks. Not locked: one thread at a time may put and
 * flush, one thread at a time may read, and these may be two.
 */
class PortStream {
 public:
  /** Takes over @p fd, which may be -1. */
  explicit PortStream(int fd);
  ~PortStream();
  PortStream(const PortStream&) = delete;
  PortStream& operator=(const PortStream&) = delete;

  int fd() const { return fd_; }
  /** Bytes that wait to be written. */
  size_t queued() const { return out_.size() - out_first_; }

  void Put(const void* message, size_t size);
  /** Writes what can be written now. @return 0, or -errno if the stream is dead */
  int Flush();

  /** Size 16 to NPUSIM_PORT_MAX_SIZE; valid during the call. */
  using Sink = std::function<void(const npusim_port_header&)>;
  /**
   * Reads once and hands over the messages that are complete.
   * @return 0, or -errno: -EPIPE the other side is gone, -EBADMSG it sends what is no message
   */
  int Read(const Sink& sink);

  /** For a forked child: the descriptor is the parent's. */
  void Abandon();

 private:
  int fd_;
  bool socket_ = false;  // which raises SIGPIPE unless told not to
  std::vector<std::byte> out_;
  size_t out_first_ = 0;
  std::vector<std::byte> in_;
  size_t in_end_ = 0;
};

}  // namespace npusim
#endif  // NPUSIM_HOST_PORT_STREAM_H

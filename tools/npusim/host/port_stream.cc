// SPDX-License-Identifier: Apache-2.0
#include "host/port_stream.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace npusim {

PortStream::PortStream(int fd) : fd_(fd), in_(65536) {
  if (fd_ < 0) return;
  fcntl(fd_, F_SETFL, fcntl(fd_, F_GETFL) | O_NONBLOCK);
  fcntl(fd_, F_SETFD, FD_CLOEXEC);
  struct stat status;
  socket_ = fstat(fd_, &status) == 0 && S_ISSOCK(status.st_mode);
}

PortStream::~PortStream() {
  Abandon();
}

void PortStream::Abandon() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

void PortStream::Put(const void* message, size_t size) {
  if (out_first_ == out_.size()) {
    out_.clear();
    out_first_ = 0;
  }
  const auto* bytes = static_cast<const std::byte*>(message);
  out_.insert(out_.end(), bytes, bytes + size);
}

int PortStream::Flush() {
  while (out_first_ < out_.size()) {
    const std::byte* data = out_.data() + out_first_;
    const ssize_t sent = socket_ ? send(fd_, data, queued(), MSG_NOSIGNAL) : write(fd_, data, queued());
    if (sent > 0) {
      out_first_ += static_cast<size_t>(sent);
    } else if (sent < 0 && errno == EINTR) {
      continue;
    } else if (sent == 0 || errno == EAGAIN) {
      return 0;
    } else {
      return -errno;
    }
  }
  return 0;
}

int PortStream::Read(const Sink& sink) {
  const ssize_t got = read(fd_, in_.data() + in_end_, in_.size() - in_end_);
  if (got == 0) return -EPIPE;
  if (got < 0) return errno == EAGAIN || errno == EINTR ? 0 : -errno;
  in_end_ += static_cast<size_t>(got);
  size_t first = 0;
  while (in_end_ - first >= sizeof(npusim_port_header)) {
    // A copy, for alignment.
    alignas(8) std::byte message[NPUSIM_PORT_MAX_SIZE];
    npusim_port_header header;
    std::memcpy(&header, in_.data() + first, sizeof header);
    if (header.size < sizeof header || header.size > sizeof message) return -EBADMSG;
    if (in_end_ - first < header.size) break;
    std::memcpy(message, in_.data() + first, header.size);
    first += header.size;
    sink(*reinterpret_cast<const npusim_port_header*>(message));
  }
  std::memmove(in_.data(), in_.data() + first, in_end_ - first);
  in_end_ -= first;
  return 0;
}

}  // namespace npusim

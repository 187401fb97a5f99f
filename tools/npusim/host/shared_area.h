/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NPUSIM_HOST_SHARED_AREA_H
#define NPUSIM_HOST_SHARED_AREA_H

#include <cstddef>
#include <memory>
#include <vector>

namespace npusim {

/**
 * Memory that the driver writes and a profiler maps. Pages exist from their first use on, so the full size may be
 * generous. No file is behind it: it takes no descriptor of the program and no limit on file sizes applies.
 */
class SharedArea {
 public:
  /** @return nullptr if the system refuses; errno says why */
  static std::unique_ptr<SharedArea> Create(size_t bytes);
  ~SharedArea();
  SharedArea(const SharedArea&) = delete;
  SharedArea& operator=(const SharedArea&) = delete;

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

  /** A mapping of the first @p length bytes for the profiler, kept until destruction. @return 0 or -errno */
  int Map(size_t length, bool writable, void** address);

 private:
  SharedArea(std::byte* data, size_t size) : data_(data), size_(size) {}
  struct Mapping {
    void* address;
    size_t length;
  };
  std::byte* data_;
  size_t size_;
  std::vector<Mapping> mappings_;
};

}  // namespace npusim
#endif  // NPUSIM_HOST_SHARED_AREA_H

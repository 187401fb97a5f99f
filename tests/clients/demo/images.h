// SPDX-License-Identifier: Apache-2.0
// Pictures for a network: read, made smaller, turned into its input.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace demo {

/// Rows from the top, three bytes (red, green, blue) per point.
struct Image {
  int width = 0, height = 0;
  std::vector<uint8_t> rgb;

  uint8_t* At(int x, int y) { return &rgb[3 * (static_cast<size_t>(y) * width + x)]; }
  const uint8_t* At(int x, int y) const { return &rgb[3 * (static_cast<size_t>(y) * width + x)]; }
};

/// Decodes a JPEG file. Throws std::runtime_error naming the file if it cannot be read or is no JPEG.
Image DecodeJpeg(const std::string& path);

/// Encodes with quality 1 to 100. Throws std::runtime_error naming the file.
void EncodeJpeg(const Image& image, const std::string& path, int quality);

/// Scales to width x height by bilinear interpolation between the centres of points.
Image Resize(const Image& image, int width, int height);

/// Turns an image into planes of half or single precision (element_bytes 2 or 4), each colour shifted by its
/// mean over ImageNet and divided by its deviation; `out` holds 3 x height x width elements.
void ToTensor(const Image& image, int element_bytes, void* out);

}  // namespace demo

// SPDX-License-Identifier: Apache-2.0
#include "images.h"

#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>

#include <jpeglib.h>

namespace demo {
namespace {

// libjpeg leaves by longjmp: the frames it crosses hold no objects with destructors.
struct Failure {
  jpeg_error_mgr manager;
  std::jmp_buf back;
  char text[JMSG_LENGTH_MAX];
};

void Fail(j_common_ptr info) {
  auto* failure = reinterpret_cast<Failure*>(info->err);
  failure->manager.format_message(info, failure->text);
  std::longjmp(failure->back, 1);
}

struct Close {
  void operator()(std::FILE* f) const { std::fclose(f); }
};
using File = std::unique_ptr<std::FILE, Close>;

File Open(const std::string& path, const char* mode) {
  File file(std::fopen(path.c_str(), mode));
  if (!file) throw std::runtime_error("cannot open " + path + ": " + std::strerror(errno));
  return file;
}

bool Read(std::FILE* file, Failure* failure, Image* image) {
  jpeg_decompress_struct info;
  info.err = jpeg_std_error(&failure->manager);
  failure->manager.error_exit = Fail;
  if (setjmp(failure->back) != 0) {
    jpeg_destroy_decompress(&info);
    return false;
  }
  jpeg_create_decompress(&info);
  jpeg_stdio_src(&info, file);
  jpeg_read_header(&info, TRUE);
  info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&info);
  image->width = static_cast<int>(info.output_width);
  image->height = static_cast<int>(info.output_height);
  image->rgb.resize(size_t{3} * info.output_width * info.output_height);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = image->At(0, static_cast<int>(info.output_scanline));
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
  return true;
}

bool Write(std::FILE* file, Failure* failure, const Image* image, int quality) {
  jpeg_compress_struct info;
  info.err = jpeg_std_error(&failure->manager);
  failure->manager.error_exit = Fail;
  if (setjmp(failure->back) != 0) {
    jpeg_destroy_compress(&info);
    return false;
  }
  jpeg_create_compress(&info);
  jpeg_stdio_dest(&info, file);
  info.image_width = static_cast<JDIMENSION>(image->width);
  info.image_height = static_cast<JDIMENSION>(image->height);
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(image->At(0, static_cast<int>(info.next_scanline)));
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  return true;
}

// Bits of a half precision number; values beyond its range do not occur in normalised images.
uint16_t Half(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  const uint32_t sign = (bits >> 16) & 0x8000;
  const int exponent = static_cast<int>((bits >> 23) & 0xff) - 127 + 15;
  if (exponent <= 0) return static_cast<uint16_t>(sign);
  const uint32_t rounded =
      (static_cast<uint32_t>(exponent) << 10) + ((bits & 0x7fffff) >> 13) + ((bits >> 12) & 1);
  return static_cast<uint16_t>(sign | rounded);
}

}  // namespace

Image DecodeJpeg(const std::string& path) {
  const File file = Open(path, "rb");
  Failure failure = {};
  Image image;
  if (!Read(file.get(), &failure, &image))
    throw std::runtime_error(path + " is no JPEG file: " + failure.text);
  return image;
}

void EncodeJpeg(const Image& image, const std::string& path, int quality) {
  const File file = Open(path, "wb");
  Failure failure = {};
  if (!Write(file.get(), &failure, &image, quality))
    throw std::runtime_error("cannot write " + path + ": " + failure.text);
  if (std::fflush(file.get()) != 0)
    throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno));
}

Image Resize(const Image& image, int width, int height) {
  Image out{width, height, std::vector<uint8_t>(size_t{3} * width * height)};
  const float step_x = static_cast<float>(image.width) / width,
              step_y = static_cast<float>(image.height) / height;
  for (int y = 0; y < height; y++) {
    const float from_y = std::fmax(0.0F, (y + 0.5F) * step_y - 0.5F);
    const int y0 = static_cast<int>(from_y), y1 = std::min(y0 + 1, image.height - 1);
    const float fy = from_y - y0;
    for (int x = 0; x < width; x++) {
      const float from_x = std::fmax(0.0F, (x + 0.5F) * step_x - 0.5F);
      const int x0 = static_cast<int>(from_x), x1 = std::min(x0 + 1, image.width - 1);
      const float fx = from_x - x0;
      for (int colour = 0; colour < 3; colour++) {
        const float upper = image.At(x0, y0)[colour] * (1 - fx) + image.At(x1, y0)[colour] * fx;
        const float lower = image.At(x0, y1)[colour] * (1 - fx) + image.At(x1, y1)[colour] * fx;
        out.At(x, y)[colour] = static_cast<uint8_t>(std::lround(upper * (1 - fy) + lower * fy));
      }
    }
  }
  return out;
}

void ToTensor(const Image& image, int element_bytes, void* out) {
  constexpr float kMean[] = {0.485F, 0.456F, 0.406F}, kDeviation[] = {0.229F, 0.224F, 0.225F};
  const size_t points = static_cast<size_t>(image.width) * image.height;
  for (int colour = 0; colour < 3; colour++) {
    for (size_t i = 0; i < points; i++) {
      const float value = (image.rgb[3 * i + colour] / 255.0F - kMean[colour]) / kDeviation[colour];
      const size_t at = colour * points + i;
      if (element_bytes == 2)
        static_cast<uint16_t*>(out)[at] = Half(value);
      else
        static_cast<float*>(out)[at] = value;
    }
  }
}

}  // namespace demo

// SPDX-License-Identifier: Apache-2.0
#include "images.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace {

demo::Image Ramp(int width, int height) {
  demo::Image image{width, height, std::vector<uint8_t>(size_t{3} * width * height)};
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      image.At(x, y)[0] = static_cast<uint8_t>(x * 255 / (width - 1));
      image.At(x, y)[1] = static_cast<uint8_t>(y * 255 / (height - 1));
      image.At(x, y)[2] = 128;
    }
  return image;
}

TEST(DemoImages, JpegKeepsSmoothPicturesWithinFewLevels) {
  const std::string path = testing::TempDir() + "demo_ramp_" + std::to_string(getpid()) + ".jpg";
  const demo::Image before = Ramp(97, 61);
  demo::EncodeJpeg(before, path, 95);
  const demo::Image after = demo::DecodeJpeg(path);
  ASSERT_EQ(after.width, 97);
  ASSERT_EQ(after.height, 61);
  for (size_t i = 0; i < before.rgb.size(); i++) EXPECT_NEAR(before.rgb[i], after.rgb[i], 12) << i;
  std::remove(path.c_str());
}

TEST(DemoImages, NoJpegIsRefusedByName) {
  const std::string path = testing::TempDir() + "demo_text_" + std::to_string(getpid()) + ".jpg";
  std::ofstream(path) << "no picture";
  try {
    demo::DecodeJpeg(path);
    FAIL() << "was accepted";
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find(path + " is no JPEG file"), std::string::npos) << e.what();
  }
  std::remove(path.c_str());
  EXPECT_THROW(demo::DecodeJpeg("/no/such/file.jpg"), std::runtime_error);
}

TEST(DemoImages, ResizeOfEqualSizeChangesNothing) {
  const demo::Image image = Ramp(31, 17);
  EXPECT_EQ(demo::Resize(image, 31, 17).rgb, image.rgb);
}

TEST(DemoImages, ResizeInterpolatesBetweenCentres) {
  demo::Image two{2, 1, {0, 0, 0, 200, 100, 40}};
  const demo::Image four = demo::Resize(two, 4, 1);
  // Centres of the four points lie at -0.25 (clamped), 0.25, 0.75 and 1.25 (clamped) of the two.
  EXPECT_EQ(four.rgb, (std::vector<uint8_t>{0, 0, 0, 50, 25, 10, 150, 75, 30, 200, 100, 40}));
}

TEST(DemoImages, ResizeOfARampStaysARamp) {
  const demo::Image small = demo::Resize(Ramp(640, 480), 224, 224);
  for (int x = 0; x < 224; x++) EXPECT_NEAR(small.At(x, 100)[0], (x + 0.5) / 224 * 255, 1.5) << x;
}

TEST(DemoImages, TensorHoldsNormalisedPlanes) {
  const demo::Image image{2, 1, {0, 128, 255, 255, 0, 64}};
  float single[6];
  demo::ToTensor(image, 4, single);
  EXPECT_FLOAT_EQ(single[0], -0.485F / 0.229F);
  EXPECT_FLOAT_EQ(single[1], (1 - 0.485F) / 0.229F);
  EXPECT_FLOAT_EQ(single[2], (128 / 255.0F - 0.456F) / 0.224F);
  EXPECT_FLOAT_EQ(single[4], (1 - 0.406F) / 0.225F);

  uint16_t half[6];
  demo::ToTensor(image, 2, half);
  for (int i = 0; i < 6; i++) {
    const int exponent = (half[i] >> 10) & 31;
    const float value =
        std::ldexp(1 + (half[i] & 1023) / 1024.0F, exponent - 15) * (half[i] & 0x8000 ? -1 : 1);
    EXPECT_NEAR(value, single[i], std::fabs(single[i]) / 1024) << i;
  }
}

}  // namespace

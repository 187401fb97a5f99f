// SPDX-License-Identifier: Apache-2.0
// Renders the demonstration's pictures: spheres over a checkered floor, each from another place.
//
// usage: scenes DIR COUNT     writes DIR/scene_<k>.jpg
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "images.h"

namespace {

struct Vec {
  float x, y, z;
};
Vec operator+(Vec a, Vec b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
Vec operator-(Vec a, Vec b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
Vec operator*(Vec a, float s) {
  return {a.x * s, a.y * s, a.z * s};
}
float Dot(Vec a, Vec b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
Vec Unit(Vec a) {
  return a * (1 / std::sqrt(Dot(a, a)));
}

struct Sphere {
  Vec centre;
  float radius;
  Vec colour;
};

constexpr Sphere kSpheres[] = {{{0, 1, 0}, 1, {0.9F, 0.2F, 0.2F}},
                               {{-2.2F, 0.7F, 1}, 0.7F, {0.2F, 0.8F, 0.3F}},
                               {{2, 0.6F, -0.8F}, 0.6F, {0.2F, 0.4F, 0.9F}},
                               {{0.6F, 0.35F, 2}, 0.35F, {0.95F, 0.8F, 0.2F}}};
constexpr Vec kLight = {-0.5F, 0.75F, 0.43F};

// Distance to the first thing hit, its surface and colour; negative if the ray leaves the scene.
float Hit(Vec from, Vec along, Vec* normal, Vec* colour) {
  float nearest = -1;
  for (const Sphere& sphere : kSpheres) {
    const Vec to = from - sphere.centre;
    const float b = Dot(to, along), c = Dot(to, to) - sphere.radius * sphere.radius;
    const float inside = b * b - c;
    if (inside < 0) continue;
    const float distance = -b - std::sqrt(inside);
    if (distance < 0.001F || (nearest > 0 && distance > nearest)) continue;
    nearest = distance;
    *normal = Unit(from + along * distance - sphere.centre);
    *colour = sphere.colour;
  }
  if (along.y < 0) {
    const float distance = -from.y / along.y;
    if (distance > 0.001F && (nearest < 0 || distance < nearest)) {
      nearest = distance;
      *normal = {0, 1, 0};
      const Vec at = from + along * distance;
      const bool dark = (static_cast<int>(std::floor(at.x)) + static_cast<int>(std::floor(at.z))) % 2 != 0;
      *colour = dark ? Vec{0.25F, 0.25F, 0.28F} : Vec{0.85F, 0.85F, 0.8F};
    }
  }
  return nearest;
}

Vec Shade(Vec from, Vec along) {
  Vec normal{}, colour{}, other{}, ignored{};
  const float distance = Hit(from, along, &normal, &colour);
  if (distance < 0) return Vec{0.45F, 0.65F, 0.95F} * (0.6F + 0.4F * std::fmax(0.0F, along.y));
  const Vec at = from + along * distance + normal * 0.001F;
  const float light =
      Hit(at, Unit(kLight), &other, &ignored) < 0 ? std::fmax(0.0F, Dot(normal, Unit(kLight))) : 0;
  return colour * (0.25F + 0.75F * light);
}

demo::Image Render(int number) {
  demo::Image image{640, 480, std::vector<uint8_t>(size_t{3} * 640 * 480)};
  const float turn = 0.7F * number;
  const Vec eye = {6 * std::sin(turn), 2 + 0.3F * (number % 4), 6 * std::cos(turn)};
  const Vec forward = Unit(Vec{0, 0.6F, 0} - eye), right = Unit(Vec{-forward.z, 0, forward.x});
  const Vec up = {right.y * forward.z - right.z * forward.y, right.z * forward.x - right.x * forward.z,
                  right.x * forward.y - right.y * forward.x};
  for (int y = 0; y < image.height; y++) {
    for (int x = 0; x < image.width; x++) {
      const Vec along = Unit(forward + right * ((x - 320) / 400.0F) + up * ((240 - y) / 400.0F));
      const Vec colour = Shade(eye, along);
      const float parts[] = {colour.x, colour.y, colour.z};
      for (int i = 0; i < 3; i++)
        image.At(x, y)[i] = static_cast<uint8_t>(std::fmin(255.0F, 255 * std::sqrt(parts[i])));
    }
  }
  return image;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: scenes DIR COUNT\n");
    return 2;
  }
  try {
    for (int i = 0; i < std::atoi(argv[2]); i++)
      demo::EncodeJpeg(Render(i), std::string(argv[1]) + "/scene_" + std::to_string(i) + ".jpg", 90);
  } catch (const std::runtime_error& e) {
    std::fprintf(stderr, "scenes: %s\n", e.what());
    return 1;
  }
  return 0;
}

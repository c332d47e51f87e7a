// The choice between the paths of CRC-32C, and the portable one: slicing by 8 (Kounavis and Berry, 2005).
#include "crc32c.h"

#include <array>
#include <atomic>

namespace brimful {
namespace {

using SliceTables = std::array<std::array<uint32_t, 256>, 8>;

// Table k holds the checksum of a byte followed by k zero bytes.
constexpr SliceTables make_slice_tables() {
  SliceTables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? detail::kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (size_t k = 1; k < tables.size(); ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}

constexpr SliceTables kSlices = make_slice_tables();

// The first byte in memory comes out lowest, whatever the machine's byte order.
inline uint32_t load_little_endian(const unsigned char* from) {
  return static_cast<uint32_t>(from[0]) | static_cast<uint32_t>(from[1]) << 8 | static_cast<uint32_t>(from[2]) << 16 |
         static_cast<uint32_t>(from[3]) << 24;
}

struct Path {
  std::string_view name;
  uint32_t (*run)(uint32_t, const void*, size_t) noexcept;
  bool (*present)() noexcept;
};

bool always() noexcept { return true; }

constexpr Path kPaths[] = {
#ifdef BRIMFUL_HARDWARE_CRC32C
    {BRIMFUL_HARDWARE_CRC32C, detail::hardware_crc32c, detail::hardware_crc32c_present},
#endif
    {"portable", detail::portable_crc32c, always},
};

const Path* best_path() noexcept {
  for (const Path& path : kPaths) {
    if (path.present()) return &path;
  }
  return nullptr;  // not reached: the last one is always present
}

std::atomic<const Path*>& path_in_use() noexcept {
  static std::atomic<const Path*> path{best_path()};
  return path;
}

}  // namespace

namespace detail {

uint32_t portable_crc32c(uint32_t value, const void* data, size_t size) noexcept {
  const auto* at = static_cast<const unsigned char*>(data);
  uint32_t crc = ~value;
  for (; size >= 8; at += 8, size -= 8) {
    const uint32_t low = crc ^ load_little_endian(at);
    const uint32_t high = load_little_endian(at + 4);
    crc = kSlices[7][low & 0xFF] ^ kSlices[6][(low >> 8) & 0xFF] ^ kSlices[5][(low >> 16) & 0xFF] ^
          kSlices[4][low >> 24] ^ kSlices[3][high & 0xFF] ^ kSlices[2][(high >> 8) & 0xFF] ^
          kSlices[1][(high >> 16) & 0xFF] ^ kSlices[0][high >> 24];
  }
  for (; size > 0; ++at, --size) crc = (crc >> 8) ^ kSlices[0][(crc ^ *at) & 0xFF];
  return ~crc;
}

}  // namespace detail

uint32_t crc32c(uint32_t value, const void* data, size_t size) noexcept {
  return path_in_use().load(std::memory_order_relaxed)->run(value, data, size);
}

std::vector<std::string_view> crc32c_paths() {
  std::vector<std::string_view> names;
  for (const Path& path : kPaths) {
    if (path.present()) names.push_back(path.name);
  }
  return names;
}

std::string_view crc32c_path() noexcept { return path_in_use().load(std::memory_order_relaxed)->name; }

bool use_crc32c_path(std::string_view name) noexcept {
  for (const Path& path : kPaths) {
    if (path.name == name && path.present()) {
      path_in_use().store(&path, std::memory_order_relaxed);
      return true;
    }
  }
  return false;
}

}  // namespace brimful

// CRC-32C (Castagnoli), as in RFC 3720, on whichever path this CPU does best.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

// The name of the path that uses the CPU's own instruction; not defined where no such path is written.
#if defined(__x86_64__)
#define BRIMFUL_HARDWARE_CRC32C "sse42"
#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BRIMFUL_HARDWARE_CRC32C "armv8"
#endif

namespace brimful {

// The checksum of `size` bytes, continued from `value`, the checksum of what came before them (0: nothing did).
uint32_t crc32c(uint32_t value, const void* data, size_t size) noexcept;

// The paths that this CPU can take, the best first; "portable" is always among them.
std::vector<std::string_view> crc32c_paths();

// The path that crc32c() takes now.
std::string_view crc32c_path() noexcept;

// Makes crc32c() take a path by its name from now on; false when this CPU has none of that name.
bool use_crc32c_path(std::string_view name) noexcept;

namespace detail {

// The reversed polynomial: bit 31 stands for x^0.
inline constexpr uint32_t kPolynomial = 0x82F63B78u;

bool hardware_crc32c_present() noexcept;
uint32_t hardware_crc32c(uint32_t value, const void* data, size_t size) noexcept;
uint32_t portable_crc32c(uint32_t value, const void* data, size_t size) noexcept;

}  // namespace detail
}  // namespace brimful

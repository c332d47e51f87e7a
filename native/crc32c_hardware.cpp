// CRC-32C by the CPU's own instruction: SSE4.2 on x86-64, the CRC extension on arm64.
//
// The instruction takes one every cycle but answers after three, so one chain of them runs at a third of the speed.
// Three blocks that lie behind one another are therefore run side by side, and their checksums joined afterwards: the
// checksum of a block is moved past the bytes that follow it, which is a multiplication by a constant power of x, here
// four look-ups.
//
// Only the functions marked BRIMFUL_CRC_TARGET use it, so the module still loads on a CPU without it.
#include "crc32c.h"

#ifdef BRIMFUL_HARDWARE_CRC32C

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#define BRIMFUL_CRC_TARGET __attribute__((target("sse4.2")))
#else
#if defined(__linux__)
#include <sys/auxv.h>
#endif
#if defined(__clang__)
#define BRIMFUL_CRC_TARGET __attribute__((target("crc")))
#else
#define BRIMFUL_CRC_TARGET __attribute__((target("+crc")))
#endif
#endif

namespace brimful::detail {
namespace {

// The instructions by hand: the compilers disagree about which target their intrinsics for them belong to, and about
// whether they are declared at all when the file as a whole is not built for it.

#if defined(__x86_64__)

BRIMFUL_CRC_TARGET inline uint64_t step(uint64_t crc, uint64_t word) {
  __asm__("crc32q %1, %0" : "+r"(crc) : "r"(word));
  return crc;
}
BRIMFUL_CRC_TARGET inline uint64_t step(uint64_t crc, unsigned char byte) {
  __asm__("crc32b %b1, %q0" : "+r"(crc) : "q"(byte));
  return crc;
}

#else

BRIMFUL_CRC_TARGET inline uint64_t step(uint64_t crc, uint64_t word) {
  __asm__("crc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(word));
  return crc;
}
BRIMFUL_CRC_TARGET inline uint64_t step(uint64_t crc, unsigned char byte) {
  __asm__("crc32cb %w0, %w0, %w1" : "+r"(crc) : "r"(static_cast<uint32_t>(byte)));
  return crc;
}

#endif

inline uint64_t load(const unsigned char* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// a * b modulo the polynomial; bit 31 stands for x^0.
constexpr uint32_t multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t bit = 1u << 31; bit != 0; bit >>= 1) {
    if (a & bit) product ^= b;
    b = (b >> 1) ^ ((b & 1) ? kPolynomial : 0);
  }
  return product;
}

// x^(8 * bytes): what a checksum is multiplied by when that many zero bytes follow.
constexpr uint32_t power_of_bytes(size_t bytes) {
  uint32_t power = 1u << 31;
  uint32_t square = 1u << 23;  // x^8
  for (; bytes != 0; bytes >>= 1) {
    if (bytes & 1) power = multiply(power, square);
    square = multiply(square, square);
  }
  return power;
}

using ShiftTable = std::array<std::array<uint32_t, 256>, 4>;

constexpr ShiftTable make_shift_table(size_t bytes) {
  ShiftTable table{};
  const uint32_t power = power_of_bytes(bytes);
  for (size_t k = 0; k < 4; ++k) {
    for (size_t bit = 0; bit < 8; ++bit) {
      const uint32_t moved = multiply(power, 1u << (8 * k + bit));
      const size_t size = size_t{1} << bit;  // a byte's entry is the sum of its bits' entries
      for (size_t lower = 0; lower < size; ++lower) table[k][size + lower] = table[k][lower] ^ moved;
    }
  }
  return table;
}

// Long blocks spend little on joining; short ones bring the gain to files of a few KB.
constexpr size_t kLong = 2048;
constexpr size_t kShort = 256;
constexpr ShiftTable kPastLong = make_shift_table(kLong);
constexpr ShiftTable kPastShort = make_shift_table(kShort);

inline uint64_t shift(const ShiftTable& table, uint64_t crc) {
  return table[0][crc & 0xFF] ^ table[1][(crc >> 8) & 0xFF] ^ table[2][(crc >> 16) & 0xFF] ^ table[3][(crc >> 24) & 0xFF];
}

// Runs over as many groups of three blocks as there are, and moves `at` and `size` past them.
template <size_t kBlock>
BRIMFUL_CRC_TARGET inline uint64_t three_by_three(const ShiftTable& past, uint64_t crc, const unsigned char*& at,
                                                  size_t& size) {
  for (; size >= 3 * kBlock; at += 3 * kBlock, size -= 3 * kBlock) {
    uint64_t second = 0;
    uint64_t third = 0;
    for (size_t i = 0; i < kBlock; i += 8) {
      crc = step(crc, load(at + i));
      second = step(second, load(at + kBlock + i));
      third = step(third, load(at + 2 * kBlock + i));
    }
    crc = shift(past, shift(past, crc) ^ second) ^ third;
  }
  return crc;
}

}  // namespace

#if defined(__x86_64__)

bool hardware_crc32c_present() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_SSE4_2) != 0;
}

#elif defined(__linux__)

bool hardware_crc32c_present() noexcept {
  constexpr unsigned long kHwcapCrc32 = 1ul << 7;  // HWCAP_CRC32 of <asm/hwcap.h>
  return (getauxval(AT_HWCAP) & kHwcapCrc32) != 0;
}

#else

bool hardware_crc32c_present() noexcept {
#if defined(__ARM_FEATURE_CRC32)
  return true;  // what the compiler was told is there, as it is on every Apple CPU
#else
  return false;
#endif
}

#endif

BRIMFUL_CRC_TARGET uint32_t hardware_crc32c(uint32_t value, const void* data, size_t size) noexcept {
  const auto* at = static_cast<const unsigned char*>(data);
  uint64_t crc = ~value;
  for (; size > 0 && (reinterpret_cast<uintptr_t>(at) & 7) != 0; ++at, --size) crc = step(crc, *at);
  crc = three_by_three<kLong>(kPastLong, crc, at, size);
  crc = three_by_three<kShort>(kPastShort, crc, at, size);
  for (; size >= 8; at += 8, size -= 8) crc = step(crc, load(at));
  for (; size > 0; ++at, --size) crc = step(crc, *at);
  return ~static_cast<uint32_t>(crc);
}

}  // namespace brimful::detail

#endif

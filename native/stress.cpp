// A stress of the reader and the checksums, without Python, for the sanitizers: tools/sanitize_native.py builds and
// runs it. The linker replaces open, fstat and read by the functions below (--wrap), which interrupt calls, cut reads
// short and invent I/O errors, as no real disk does on demand.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "crc32c.h"
#include "file_reader.h"

namespace {

constexpr size_t kFiles = 400;
constexpr size_t kListed = 4 * kFiles;  // each file four times: the list goes round the reader's ring
constexpr size_t kLargest = 300000;
std::atomic<unsigned> faults{0};  // one call in so many goes wrong; 0: none

bool strikes() {
  static std::atomic<unsigned> calls{0};
  thread_local std::minstd_rand random(calls.fetch_add(1) + 1);
  const unsigned rate = faults.load(std::memory_order_relaxed);
  return rate != 0 && random() % rate == 0;
}

}  // namespace

extern "C" {

int __real_open(const char* path, int flags, ...);
int __real_fstat(int fd, struct stat* about);
ssize_t __real_read(int fd, void* to, size_t size);

int __wrap_open(const char* path, int flags, ...) {
  if (strikes()) {
    errno = EINTR;
    return -1;
  }
  return __real_open(path, flags, 0644);
}

int __wrap_fstat(int fd, struct stat* about) {
  if (strikes()) {
    errno = EIO;
    return -1;
  }
  return __real_fstat(fd, about);
}

ssize_t __wrap_read(int fd, void* to, size_t size) {
  if (strikes()) {
    errno = EINTR;
    return -1;
  }
  if (size > 1 && strikes()) size = 1 + size / 3;
  if (strikes()) {
    errno = EIO;
    return -1;
  }
  return __real_read(fd, to, size);
}

}  // extern "C"

namespace {

[[noreturn]] void fail(const char* what, size_t index) {
  std::fprintf(stderr, "stress: %s (file %zu)\n", what, index);
  std::exit(1);
}

void check(bool holds, const char* what, size_t index) {
  if (!holds) fail(what, index);
}

std::vector<char> content_of(size_t index) {
  std::minstd_rand random(static_cast<unsigned>(index) + 7);
  const size_t size = index % 7 == 0 ? 0 : index % 50 == 0 ? kLargest : random() % 9000;
  std::vector<char> content(size);
  for (char& byte : content) byte = static_cast<char>(random());
  return content;
}

// Every 11th file is missing, every 13th a directory, the last few change all the time.
enum class Kind { kPlain, kMissing, kDirectory, kChanging };

Kind kind_of(size_t index) {
  if (index >= kFiles - 4) return Kind::kChanging;
  if (index % 11 == 10) return Kind::kMissing;
  if (index % 13 == 12) return Kind::kDirectory;
  return Kind::kPlain;
}

std::vector<std::string> write_files(const std::string& root) {
  std::vector<std::string> paths;
  for (size_t index = 0; index < kFiles; ++index) {
    const std::string path = root + "/" + std::to_string(index);
    paths.push_back(path);
    if (kind_of(index) == Kind::kMissing) continue;
    if (kind_of(index) == Kind::kDirectory) {
      ::mkdir(path.c_str(), 0755);
      continue;
    }
    const std::vector<char> content = content_of(index);
    std::ofstream file(path, std::ios::binary);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    check(file.good(), "no room to write", index);
  }
  return paths;
}

void verify(size_t listed, const brimful::FileResult& result) {
  const size_t index = listed % kFiles;
  if (result.error == EIO) return check(faults.load() != 0, "an error from nowhere", index);
  const Kind kind = kind_of(index);
  if (kind == Kind::kMissing) return check(result.error == ENOENT, "a missing file without ENOENT", index);
  if (kind == Kind::kDirectory) return check(result.error == EISDIR, "a directory without EISDIR", index);
  check(result.error == 0, "an error", index);
  check(brimful::crc32c(0, result.data, result.size) == result.crc, "a wrong checksum", index);
  if (kind == Kind::kChanging) return;
  const std::vector<char> expected = content_of(index);
  check(!result.changed, "a file that is said to have changed", index);
  check(result.size == expected.size(), "a wrong size", index);
  check(std::equal(expected.begin(), expected.end(), result.data), "wrong content", index);
}

void read_oversized(const char* path, size_t index, brimful::FileReader& reader) {
  brimful::OpenFile file(path);
  if (file.error() != 0) return check(file.error() == EIO, "an oversized file that does not open", index);
  std::vector<char> memory(file.size() + 1);
  verify(index, file.read(memory.data(), true, reader.stopped()));
}

// Reads the list once, all of it or up to a point, slowly or fast.
void one_round(const std::vector<const char*>& paths, std::minstd_rand& random) {
  constexpr size_t kBudgets[] = {1, 1000, 20000, 200000, size_t{1} << 20, size_t{64} << 20};
  brimful::FileReaderOptions options;
  options.threads = 1 + static_cast<unsigned>(random() % 8);
  options.max_bytes_ahead = kBudgets[random() % 6];
  const size_t leave_at = random() % 3 == 0 ? random() % kListed : kListed;
  const bool slow = random() % 4 == 0;
  brimful::FileReader reader(paths, options);
  size_t expected = 0, first = 0, count = 0;
  while (expected < leave_at) {
    const auto taken = reader.take(first, count);
    if (taken == brimful::FileReader::Taken::kEnd) break;
    check(count == 0 || first == expected, "out of order", first);
    for (size_t index = first; index < first + count; ++index) {
      brimful::FileResult& result = reader.taken(index);
      if (result.oversized) read_oversized(paths[index], index, reader);
      else verify(index, result);
      reader.give_back(index);
    }
    expected += count;
    if (slow) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  check(expected >= leave_at, "an end before the end", expected);
  if (random() % 2 == 0) reader.stop();
  if (random() % 8 == 0) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(reader.made_before_fork() ? 0 : 1);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    check(status == 0, "a child that does not know it is one", 0);
  }
}

void keep_changing(const std::vector<std::string>& paths, const std::atomic<bool>& done) {
  std::minstd_rand random(3);
  while (!done.load()) {
    for (size_t index = kFiles - 4; index < kFiles; ++index) {
      if (::truncate(paths[index].c_str(), static_cast<off_t>(random() % 20000)) != 0) std::abort();
    }
  }
}

void keep_switching(const std::atomic<bool>& done) {
  const auto paths = brimful::crc32c_paths();
  for (size_t turn = 0; !done.load(); ++turn) {
    brimful::use_crc32c_path(paths[turn % paths.size()]);
    check(brimful::crc32c(0, "123456789", 9) == 0xE3069283u, "a wrong vector", turn);
    std::this_thread::yield();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;  // stress FOLDER ROUNDS
  const std::vector<std::string> paths = write_files(argv[1]);
  std::vector<const char*> borrowed;
  for (size_t listed = 0; listed < kListed; ++listed) borrowed.push_back(paths[listed % kFiles].c_str());

  std::atomic<bool> done{false};
  std::thread changing(keep_changing, std::cref(paths), std::cref(done));
  std::thread switching(keep_switching, std::cref(done));
  std::minstd_rand random(1);
  const int rounds = std::atoi(argv[2]);
  for (int round = 0; round < rounds; ++round) {
    faults.store(round % 3 == 0 ? 0 : 20);
    one_round(borrowed, random);
  }
  done.store(true);
  changing.join();
  switching.join();
  std::printf("stress: %d rounds over %zu files, nothing found\n", rounds, kListed);
  return 0;
}

// Reads many files with several threads and hands them out in the order of the list, with bounded memory.
//
// This part knows nothing of Python. How it works:
//   * A thread claims the next number of the list and reads that file into its place in a ring. Places keep small
//     buffers, so that reading small files allocates nothing.
//   * The consumer takes whatever is ready at the head of the ring, many results at once, and gives each place back.
//   * A thread that would go too far ahead, in files or in bytes, sleeps. The file at the head never waits, so the
//     order cannot lock anything up: at most `max_bytes_ahead` and one file more are held.
//   * A file larger than `max_bytes_ahead` is not read ahead at all: the consumer reads it, straight into the memory
//     that it keeps.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

namespace brimful {

// Memory of at least the size that was last asked for; its content is lost when it has to grow.
class Buffer {
 public:
  ~Buffer() { std::free(memory_); }
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  bool reserve(size_t size) noexcept;  // false: there is not so much memory
  void shrink_to(size_t most) noexcept;
  char* data() const noexcept { return memory_; }

 private:
  char* memory_ = nullptr;
  size_t capacity_ = 0;
};

// One file as it was read.
struct FileResult {
  const char* data = nullptr;
  size_t size = 0;
  uint32_t crc = 0;
  int error = 0;           // an errno, or 0
  bool changed = false;    // it shrank or grew meanwhile; what is held never exceeds its size when it was opened
  bool oversized = false;  // larger than max_bytes_ahead: `size` says how large, and it is still to be read
};

// An open regular file; anything else is an error.
class OpenFile {
 public:
  explicit OpenFile(const char* path) noexcept;
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int error() const noexcept { return error_; }
  size_t size() const noexcept { return size_; }

  // Reads the file into `to`, which has room for size() + 1 bytes: the one more tells whether the file grew.
  // Gives up, with ECANCELED, soon after `stop` is set.
  FileResult read(char* to, bool checksum, const std::atomic<bool>& stop) noexcept;

 private:
  int fd_ = -1;
  int error_ = 0;
  size_t size_ = 0;
};

struct FileReaderOptions {
  unsigned threads = 1;
  size_t max_bytes_ahead = size_t{64} << 20;
  bool checksum = true;
};

class FileReader {
 public:
  // `paths` must stay where they are until the reader is gone; a null path gives EINVAL.
  FileReader(std::vector<const char*> paths, const FileReaderOptions& options);
  ~FileReader();
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  enum class Taken { kSome, kNothingYet, kEnd };

  // Takes what is ready at the head: the results `first` up to `first + count` without it. Waits a tenth of a second
  // for the first of them. One consumer only. Each result must be given back before the next call; its bytes count as
  // held until then, since the consumer is likely to hold a copy.
  Taken take(size_t& first, size_t& count) noexcept;
  FileResult& taken(size_t index) noexcept { return place(index).result; }
  void give_back(size_t index) noexcept;

  // Ends the threads and waits for them; nothing can be taken afterwards.
  void stop() noexcept;

  const std::atomic<bool>& stopped() const noexcept { return stop_; }
  bool checksum() const noexcept { return options_.checksum; }

  // In a child of fork() the threads are gone, and what they held locked stays locked: such a reader must be left
  // alone, not even destroyed.
  bool made_before_fork() const noexcept;

 private:
  struct alignas(64) Place {
    std::atomic<bool> ready{false};
    FileResult result;
    Buffer buffer;
  };

  void start_threads();
  void work() noexcept;
  FileResult read_one(size_t index, Buffer& buffer) noexcept;
  bool wait_for_place(size_t index) noexcept;
  bool wait_for_bytes(size_t index, size_t bytes) noexcept;
  template <class Condition>
  bool sleep_until(Condition condition) noexcept;
  void publish(Place& place) noexcept;
  bool head_ready() noexcept;
  bool wait_for_head() noexcept;
  void wake_threads() noexcept;

  Place& place(size_t index) noexcept { return ring_[index & (ring_.size() - 1)]; }

  const std::vector<const char*> paths_;
  const FileReaderOptions options_;
  const pid_t owner_;
  std::vector<Place> ring_;  // a power of two of them
  const size_t kept_;         // how large a buffer a place may keep
  const size_t block_;        // how many small files a thread claims at once
  std::vector<std::thread> threads_;

  // Each on a cache line of its own: threads claim while the consumer takes.
  alignas(64) std::atomic<size_t> next_{0};   // the number to claim
  alignas(64) std::atomic<size_t> head_{0};   // the number to take
  std::atomic<size_t> tail_{0};               // the number to give back
  alignas(64) std::atomic<size_t> bytes_{0};  // read and not yet done with
  alignas(64) std::atomic<bool> stop_{false};
  size_t taken_bytes_ = 0;  // what the last take() handed out

  std::mutex mutex_;  // only for sleeping; everything else is atomic
  std::condition_variable room_;
  std::condition_variable filled_;
  std::atomic<unsigned> sleeping_{0};
  std::atomic<bool> consumer_sleeps_{false};
};

}  // namespace brimful

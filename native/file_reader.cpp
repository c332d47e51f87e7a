#include "file_reader.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <new>
#include <system_error>
#include <utility>

#include "crc32c.h"

namespace brimful {
namespace {

constexpr size_t kPiece = size_t{256} << 10;      // stays in the L2 cache between reading and checksum
constexpr size_t kRing = 512;                     // how many files may be read ahead, however small they are
constexpr size_t kKept = size_t{32} << 10;        // the largest buffer that a place keeps
constexpr size_t kMostBlock = 16;                 // neighbours in the list go to one thread: they lie close in memory
constexpr size_t kSmallBlock = size_t{1} << 20;   // a block with more bytes is followed by single files
constexpr size_t kTakeFiles = 64;                 // one take(): enough to spread the cost of a call over
constexpr size_t kTakeBytes = size_t{96} << 10;   // one take(): less than what makes malloc give its memory back to
                                                  // the system (128 KiB), only to fetch it anew for the next
constexpr size_t kLargestRead = size_t{1} << 30;  // Linux reads no more than 2 GiB at once
constexpr auto kPatience = std::chrono::milliseconds(100);

size_t ring_size(size_t files) {
  size_t size = 1;
  while (size < std::min(files, kRing)) size *= 2;
  return size;
}

// A new thread has its creator's signal mask. With every signal blocked, handlers stay on the threads they were on
// before, and reads are not interrupted.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

// With a table of file descriptors of its own, which holds none of the process's beyond the standard three, a thread
// opens and closes files without contending for the table with the others: a tenth of the whole cost for small files.
// Where the system does not offer it, nothing is lost but that. (ThreadSanitizer takes equal numbers in two tables for
// one file.)
void leave_shared_descriptors() noexcept {
#if defined(SYS_close_range) && !defined(__SANITIZE_THREAD__)
  constexpr unsigned kUnshare = 1u << 1;  // CLOSE_RANGE_UNSHARE of <linux/close_range.h>
  ::syscall(SYS_close_range, 3u, ~0u, kUnshare);
#endif
}

int open_for_reading(const char* path, int more_flags) noexcept {
  int fd = -1;
  do fd = ::open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | more_flags);
  while (fd < 0 && errno == EINTR);
  return fd;
}

size_t block_size(size_t files, size_t ring, unsigned threads) {
  const size_t fair = std::min(files, ring) / (size_t{4} * std::max(threads, 1u));
  return std::clamp<size_t>(fair, 1, kMostBlock);
}

}  // namespace

bool Buffer::reserve(size_t size) noexcept {
  if (size <= capacity_) return true;
  std::free(memory_);
  memory_ = static_cast<char*>(std::malloc(size));
  capacity_ = memory_ == nullptr ? 0 : size;
  return memory_ != nullptr;
}

void Buffer::shrink_to(size_t most) noexcept {
  if (capacity_ <= most) return;
  std::free(memory_);
  memory_ = nullptr;
  capacity_ = 0;
}

OpenFile::OpenFile(const char* path) noexcept {
  if (path == nullptr) {
    error_ = EINVAL;
    return;
  }
  // O_NONBLOCK: a FIFO in the list must not stop everything until somebody writes to it.
  fd_ = open_for_reading(path, O_NONBLOCK);
  // Somebody has a lease on the file, a file server mostly, and is asked to give it up: that is worth waiting for.
  if (fd_ < 0 && errno == EWOULDBLOCK) fd_ = open_for_reading(path, 0);
  struct stat about;
  if (fd_ < 0 || ::fstat(fd_, &about) != 0) {
    error_ = errno;
  } else if (S_ISDIR(about.st_mode)) {
    error_ = EISDIR;
  } else if (!S_ISREG(about.st_mode)) {
    error_ = EOPNOTSUPP;
  } else {
    size_ = static_cast<size_t>(about.st_size);
  }
}

OpenFile::~OpenFile() {
  if (fd_ >= 0) ::close(fd_);
}

FileResult OpenFile::read(char* to, bool checksum, const std::atomic<bool>& stop) noexcept {
  FileResult result;
  // Without a checksum nothing is looked at twice, so there is no reason for pieces that fit into a cache.
  const size_t piece = checksum ? kPiece : kLargestRead;
  size_t have = 0;
  while (have <= size_) {
    if (stop.load(std::memory_order_relaxed)) {
      result.error = ECANCELED;
      return result;
    }
    const size_t asked = std::min(size_ + 1 - have, piece);
    const ssize_t got = ::read(fd_, to + have, asked);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      result.error = errno;
      return result;
    }
    if (got == 0) break;
    const size_t more = std::min(static_cast<size_t>(got), size_ - have);
    if (checksum) result.crc = crc32c(result.crc, to + have, more);
    have += static_cast<size_t>(got);
    // Less than was asked for, and as much as there should be: the end, and one system call saved.
    if (have == size_ && static_cast<size_t>(got) < asked) break;
  }
  result.data = to;
  result.size = std::min(have, size_);
  result.changed = have != size_;
  return result;
}

FileReader::FileReader(std::vector<const char*> paths, const FileReaderOptions& options)
    : paths_(std::move(paths)),
      options_(options),
      owner_(::getpid()),
      ring_(ring_size(paths_.size())),
      kept_(std::min(kKept, options.max_bytes_ahead / ring_.size())),
      block_(block_size(paths_.size(), ring_.size(), options.threads)) {
  try {
    start_threads();
  } catch (...) {
    stop();
    throw;
  }
}

FileReader::~FileReader() { stop(); }

void FileReader::start_threads() {
  const SignalsBlocked blocked;
  const size_t wanted = std::min<size_t>(options_.threads, paths_.size());
  threads_.reserve(wanted);
  try {
    while (threads_.size() < wanted) threads_.emplace_back(&FileReader::work, this);
  } catch (const std::system_error&) {
    if (threads_.empty()) throw;  // with at least one thread the work gets done, only slower
  }
}

void FileReader::stop() noexcept {
  stop_.store(true);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    room_.notify_all();
    filled_.notify_all();
  }
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

bool FileReader::made_before_fork() const noexcept { return ::getpid() != owner_; }

void FileReader::work() noexcept {
  leave_shared_descriptors();
  size_t many = block_;
  while (!stop_.load(std::memory_order_relaxed)) {
    const size_t start = next_.fetch_add(many, std::memory_order_relaxed);
    const size_t end = std::min(start + many, paths_.size());
    if (start >= end) return;
    size_t bytes = 0;
    for (size_t index = start; index < end; ++index) {
      if (!wait_for_place(index)) return;
      Place& mine = place(index);
      mine.result = read_one(index, mine.buffer);
      if (stop_.load(std::memory_order_relaxed)) return;
      bytes += mine.result.size;
      publish(mine);
    }
    // A block of large files would keep one thread busy while the others wait for the head.
    many = bytes <= kSmallBlock ? block_ : 1;
  }
}

FileResult FileReader::read_one(size_t index, Buffer& buffer) noexcept {
  OpenFile file(paths_[index]);
  FileResult result;
  result.error = file.error();
  if (result.error != 0) return result;
  if (file.size() > options_.max_bytes_ahead) {
    result.oversized = true;
    result.size = file.size();
    return result;
  }
  if (!wait_for_bytes(index, file.size())) return result;
  if (buffer.reserve(file.size() + 1)) {
    result = file.read(buffer.data(), options_.checksum, stop_);
  } else {
    result.error = ENOMEM;
  }
  bytes_.fetch_sub(file.size() - result.size);  // what was set aside and is not needed after all
  return result;
}

template <class Condition>
bool FileReader::sleep_until(Condition condition) noexcept {
  // The order is what makes a wake-up impossible to miss: this thread counts itself as sleeping and then looks; the
  // consumer makes room and then looks whether anybody sleeps.
  std::unique_lock<std::mutex> lock(mutex_);
  sleeping_.fetch_add(1);
  while (!stop_.load() && !condition()) room_.wait(lock);
  sleeping_.fetch_sub(1);
  return !stop_.load();
}

bool FileReader::wait_for_place(size_t index) noexcept {
  const auto free = [&] { return index < tail_.load() + ring_.size(); };
  return free() || sleep_until(free);
}

bool FileReader::wait_for_bytes(size_t index, size_t bytes) noexcept {
  const auto reserve = [&] {
    size_t held = bytes_.load();
    do {
      if (held + bytes > options_.max_bytes_ahead && index != head_.load()) return false;
    } while (!bytes_.compare_exchange_weak(held, held + bytes));
    return true;
  };
  return reserve() || sleep_until(reserve);
}

void FileReader::publish(Place& mine) noexcept {
  mine.ready.store(true);
  if (!consumer_sleeps_.load() || !head_ready()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  filled_.notify_one();
}

bool FileReader::head_ready() noexcept { return place(head_.load()).ready.load(); }

bool FileReader::wait_for_head() noexcept {
  wake_threads();  // the head's own thread may be asleep, for want of bytes that it is now entitled to
  // A short nap first: while the threads read small files they fill dozens of places in it, and none of them has to
  // wake anybody, which costs more than reading a small file does.
  for (int naps = 0; naps < 2; ++naps) {
    const timespec nap{0, 20000};
    ::nanosleep(&nap, nullptr);
    if (stop_.load()) return false;
    if (head_ready()) return true;
  }
  std::unique_lock<std::mutex> lock(mutex_);
  consumer_sleeps_.store(true);
  filled_.wait_for(lock, kPatience, [&] { return head_ready() || stop_.load(); });
  consumer_sleeps_.store(false);
  return !stop_.load() && head_ready();
}

void FileReader::wake_threads() noexcept {
  if (sleeping_.load() == 0) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  room_.notify_all();
}

FileReader::Taken FileReader::take(size_t& first, size_t& count) noexcept {
  bytes_.fetch_sub(std::exchange(taken_bytes_, 0));
  first = head_.load();
  count = 0;
  if (stop_.load() || first == paths_.size()) return Taken::kEnd;
  // Waking costs; it is put off until there is room for a good deal of work.
  const bool room = bytes_.load() <= options_.max_bytes_ahead / 2 && next_.load() <= first + ring_.size() / 2;
  if (room) wake_threads();
  if (!head_ready() && !wait_for_head()) return stop_.load() ? Taken::kEnd : Taken::kNothingYet;

  const size_t most_bytes = std::min(kTakeBytes, options_.max_bytes_ahead / 4);
  const size_t most_files = std::min(kTakeFiles, paths_.size() - first);
  while (count < most_files && taken_bytes_ <= most_bytes && place(first + count).ready.load()) {
    const FileResult& result = taken(first + count);
    if (result.oversized && count > 0) break;  // it comes alone: what was taken need not wait for it
    ++count;
    if (result.oversized) break;
    taken_bytes_ += result.size;
  }
  head_.store(first + count);
  return Taken::kSome;
}

void FileReader::give_back(size_t index) noexcept {
  Place& done = place(index);
  done.buffer.shrink_to(kept_);
  done.ready.store(false, std::memory_order_relaxed);
  tail_.store(index + 1);
}

}  // namespace brimful

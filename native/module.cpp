// What Python sees of the native code: brimful._native. Its one user is brimful/native.py, whose docstrings say what
// these functions are for; types stand in brimful/_native.pyi.
#include <Python.h>
#include <nanobind/nanobind.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "crc32c.h"
#include "file_reader.h"

namespace nb = nanobind;

namespace {

// Below this, giving the GIL up and taking it again costs more than the checksum.
constexpr size_t kWorthReleasing = size_t{16} << 10;

// A contiguous view of whatever offers Python's buffer protocol.
class Buffer {
 public:
  explicit Buffer(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  const void* data() const noexcept { return view_.buf; }
  size_t size() const noexcept { return static_cast<size_t>(view_.len); }

 private:
  Py_buffer view_;
};

uint32_t crc32c(nb::handle data, uint32_t value) {
  const Buffer buffer(data);
  if (buffer.size() < kWorthReleasing) return brimful::crc32c(value, buffer.data(), buffer.size());
  const nb::gil_scoped_release released;
  return brimful::crc32c(value, buffer.data(), buffer.size());
}

// Takes over a new reference, or the error that came in its place.
template <class T = nb::object>
T checked(PyObject* object) {
  if (object == nullptr) throw nb::python_error();
  return nb::steal<T>(object);
}

nb::object text(std::string_view from) {
  return checked(PyUnicode_FromStringAndSize(from.data(), static_cast<Py_ssize_t>(from.size())));
}

nb::list crc32c_paths() {
  nb::list names;
  for (const std::string_view name : brimful::crc32c_paths()) names.append(text(name));
  return names;
}

void use_crc32c_path(const char* name) {
  if (!brimful::use_crc32c_path(name)) throw nb::value_error("this CPU has no such path");
}

// The bytes of each path, where they lie: `paths` keeps them alive.
std::vector<const char*> borrow(const nb::list& paths) {
  std::vector<const char*> borrowed;
  borrowed.reserve(paths.size());
  for (const nb::handle path : paths) {
    if (!PyBytes_Check(path.ptr())) throw nb::type_error("paths must be a list of bytes");
    const char* start = PyBytes_AS_STRING(path.ptr());
    const bool whole = std::strlen(start) == static_cast<size_t>(PyBytes_GET_SIZE(path.ptr()));
    borrowed.push_back(whole ? start : nullptr);  // no file has a NUL in its name
  }
  return borrowed;
}

struct LeaveAfterFork {
  void operator()(brimful::FileReader* reader) const noexcept {
    if (!reader->made_before_fork()) delete reader;
  }
};

// An iterator's worth of files, by the batch; brimful.native turns it into an iterator.
class FileReader {
 public:
  FileReader(const nb::list& paths, unsigned threads, size_t max_bytes_ahead, bool checksum, nb::type_object record)
      : paths_(checked<nb::list>(PyList_GetSlice(paths.ptr(), 0, PyList_GET_SIZE(paths.ptr())))),
        record_(std::move(record)) {
    auto* type = reinterpret_cast<PyTypeObject*>(record_.ptr());
    if (!PyType_IsSubtype(type, &PyTuple_Type)) throw nb::type_error("record must be a kind of tuple");
    brimful::FileReaderOptions options;
    options.threads = threads;
    options.max_bytes_ahead = max_bytes_ahead;
    options.checksum = checksum;
    std::vector<const char*> borrowed = borrow(paths_);
    const nb::gil_scoped_release released;
    reader_.reset(new brimful::FileReader(std::move(borrowed), options));
  }

  // The next records, in order; an empty list at the end.
  nb::list next_batch() {
    if (reader_->made_before_fork()) throw std::runtime_error("a FileReader cannot be used in a child of fork()");
    const Busy busy(busy_);
    Taken taken(*reader_);
    while (taken.wait() == brimful::FileReader::Taken::kNothingYet) {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    nb::list batch = checked<nb::list>(PyList_New(static_cast<Py_ssize_t>(taken.left())));
    for (Py_ssize_t at = 0; taken.left() > 0; ++at) {
      PyList_SET_ITEM(batch.ptr(), at, make_record(taken.index(), taken.result()).release().ptr());
      taken.done();
    }
    return batch;
  }

  void close() {
    if (reader_->made_before_fork()) return;
    const nb::gil_scoped_release released;
    reader_->stop();
  }

 private:
  // The core has room for one consumer.
  class Busy {
   public:
    explicit Busy(bool& flag) : flag_(flag) {
      if (flag_) throw std::runtime_error("another thread is reading from this FileReader");
      flag_ = true;
    }
    ~Busy() { flag_ = false; }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

   private:
    bool& flag_;
  };

  // What was taken from the core; whatever happens, all of it is given back.
  class Taken {
   public:
    explicit Taken(brimful::FileReader& reader) : reader_(reader) {}
    ~Taken() {
      while (left() > 0) done();
    }
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;

    brimful::FileReader::Taken wait() {
      const nb::gil_scoped_release released;
      return reader_.take(index_, count_);
    }
    size_t index() const { return index_; }
    size_t left() const { return count_; }
    brimful::FileResult& result() { return reader_.taken(index_); }
    void done() {
      reader_.give_back(index_++);
      --count_;
    }

   private:
    brimful::FileReader& reader_;
    size_t index_ = 0;
    size_t count_ = 0;
  };

  // Reads a file that is too large to be read ahead straight into the bytes object that is handed out.
  nb::object read_oversized(size_t index, brimful::FileResult& result) {
    const char* path = PyBytes_AS_STRING(path_of(index));
    auto released = std::make_unique<nb::gil_scoped_release>();
    brimful::OpenFile file(path);
    released.reset();
    result = brimful::FileResult{};
    result.error = file.error();
    if (result.error != 0) return nb::none();
    PyObject* bytes = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(file.size() + 1));
    if (bytes == nullptr) {
      PyErr_Clear();
      result.error = ENOMEM;
      return nb::none();
    }
    released = std::make_unique<nb::gil_scoped_release>();
    result = file.read(PyBytes_AS_STRING(bytes), reader_->checksum(), reader_->stopped());
    released.reset();
    if (_PyBytes_Resize(&bytes, static_cast<Py_ssize_t>(result.size)) != 0) throw nb::python_error();
    return nb::steal(bytes);
  }

  nb::object content(size_t index, brimful::FileResult& result) {
    if (result.oversized) return read_oversized(index, result);
    if (result.error != 0) return nb::none();
    nb::object bytes = checked(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(result.size)));
    char* to = PyBytes_AS_STRING(bytes.ptr());
    if (result.size < kWorthReleasing) {
      std::memcpy(to, result.data, result.size);
    } else {
      const nb::gil_scoped_release released;  // nobody else knows the object yet
      std::memcpy(to, result.data, result.size);
    }
    return bytes;
  }

  // FileRead(index, path, data, crc32c, errno, changed), made the way tuple.__new__ makes it.
  nb::object make_record(size_t index, brimful::FileResult& result) {
    nb::object data = content(index, result);
    if (result.error != 0) data = nb::none();
    const bool fine = result.error == 0;
    nb::object crc = fine && reader_->checksum() ? checked(PyLong_FromUnsignedLong(result.crc)) : nb::none();
    nb::object code = fine ? nb::none() : checked(PyLong_FromLong(result.error));
    nb::object number = checked(PyLong_FromSize_t(index));
    auto* type = reinterpret_cast<PyTypeObject*>(record_.ptr());
    nb::object record = checked(type->tp_alloc(type, 6));
    PyTuple_SET_ITEM(record.ptr(), 0, number.release().ptr());
    PyTuple_SET_ITEM(record.ptr(), 1, Py_NewRef(path_of(index)));
    PyTuple_SET_ITEM(record.ptr(), 2, data.release().ptr());
    PyTuple_SET_ITEM(record.ptr(), 3, crc.release().ptr());
    PyTuple_SET_ITEM(record.ptr(), 4, code.release().ptr());
    PyTuple_SET_ITEM(record.ptr(), 5, Py_NewRef(result.changed ? Py_True : Py_False));
    return record;
  }

  PyObject* path_of(size_t index) const { return PyList_GET_ITEM(paths_.ptr(), static_cast<Py_ssize_t>(index)); }

  const nb::list paths_;  // this object's own: nobody can take the paths from under the threads
  const nb::type_object record_;
  std::unique_ptr<brimful::FileReader, LeaveAfterFork> reader_;
  bool busy_ = false;
};

}  // namespace

NB_MODULE(_native, module) {
  nb::set_leak_warnings(false);  // an iterator alive at exit is no fault of the user, and the warning would be theirs
  module.def("crc32c", &crc32c, nb::arg("data"), nb::arg("value") = 0);
  module.def("crc32c_paths", &crc32c_paths);
  module.def("crc32c_path", [] { return text(brimful::crc32c_path()); });
  module.def("use_crc32c_path", &use_crc32c_path, nb::arg("name"));
  nb::class_<FileReader>(module, "FileReader")
      .def(nb::init<const nb::list&, unsigned, size_t, bool, nb::type_object>(), nb::arg("paths"), nb::arg("threads"),
           nb::arg("max_bytes_ahead"), nb::arg("checksum"), nb::arg("record"))
      .def("next_batch", &FileReader::next_batch)
      .def("close", &FileReader::close);
}

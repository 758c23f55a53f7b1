// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// transport/exchange.hpp - floor 2. How ranks that do not know each other yet tell each other a few bytes: a
// directory that all of them see, a map in one process, or a store of yours.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <ccoll/base/clock.hpp>
#include <ccoll/base/error.hpp>
#include <ccoll/base/memory.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Values by key, which all ranks of a job see. A transport that has no MPI uses one to connect its ranks,
/// and to agree on groups. The store of a launcher (TCP, PMIx, that of a framework) becomes one with a class
/// of ten lines. Ranks call it from different processes or threads at the same time.
class exchange {
public:
    exchange() = default;
    exchange(const exchange&) = delete;
    exchange& operator=(const exchange&) = delete;
    virtual ~exchange() = default;

    /// Publishes `value`. Each key is used once in the life of an exchange.
    /// @param key    letters, digits and the characters "/-_.", at most 200
    /// @param value  any bytes, of any length; those of this library have less than 4 KiB. They are copied.
    /// May throw; the call of the library that needed it then fails with the words of the exception.
    virtual void put(const std::string& key, const_byte_span value) = 0;

    /// Waits until a rank has put the key.
    /// @param value    becomes the whole value
    /// @param seconds  how long to wait at most, >= 0
    /// @return false if nobody has put it in time. May throw, as put().
    virtual bool get(const std::string& key, std::vector<std::byte>& value, double seconds) = 0;
};

/// An exchange over a directory that all ranks see. Each key is a file. Every job needs a directory of its
/// own, because values of an earlier job would be taken for those of this one. Files are not removed.
/// Cost: a file for each value; whoever waits looks for it 50 to 500 times a second.
class directory_exchange final : public exchange {
public:
    /// @param directory  is made if it does not exist; its parent must
    /// @throw ccoll::error  (transport_failed) if it cannot be made
    explicit directory_exchange(std::string directory) : directory_(std::move(directory))
    {
        if (mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST) fail("directory_exchange", directory_);
    }

    /// The file appears at once and whole.
    /// @throw ccoll::error  (transport_failed) if it cannot be written
    void put(const std::string& key, const_byte_span value) override
    {
        static std::atomic<unsigned> drafts = 0;
        const std::string path = path_of(key), draft = directory_ + "/.draft-" + std::to_string(getpid()) +
                                                       "-" + std::to_string(++drafts);
        const int file = open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (file < 0) fail("directory_exchange::put", draft);
        bool written = true;
        while (written && !value.empty()) {
            const ssize_t n = write(file, value.data(), value.size());
            if (n > 0) value = value.subspan(static_cast<std::size_t>(n));
            else written = n < 0 && errno == EINTR;
        }
        if (close(file) != 0 || !written || std::rename(draft.c_str(), path.c_str()) != 0) {
            const int why = errno;
            unlink(draft.c_str());
            errno = why;
            fail("directory_exchange::put", path);
        }
    }

    /// @throw ccoll::error  (transport_failed) if the file is there and cannot be read
    bool get(const std::string& key, std::vector<std::byte>& value, double seconds) override
    {
        const std::string path = path_of(key);
        const double until = steady_seconds() + seconds;
        for (long milliseconds = 2;; milliseconds = std::min(milliseconds + 1, 20L)) {
            const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
            if (file >= 0) {
                const bool whole = read_all(file, value);
                close(file);
                if (!whole) fail("directory_exchange::get", path);
                return true;
            }
            if (errno != ENOENT && errno != ESTALE && errno != EINTR) fail("directory_exchange::get", path);
            if (steady_seconds() >= until) return false;
            const timespec pause{0, milliseconds * 1000000};
            nanosleep(&pause, nullptr);
        }
    }

private:
    [[noreturn]] static void fail(const char* call, const std::string& path)
    {
        raise(call, {status::transport_failed}, (path + ": " + std::strerror(errno)).c_str());
    }
    static bool read_all(int file, std::vector<std::byte>& value)
    {
        struct stat facts{};
        if (fstat(file, &facts) != 0) return false;
        value.resize(static_cast<std::size_t>(facts.st_size));
        for (std::size_t has = 0; has < value.size();) {
            const ssize_t n = read(file, value.data() + has, value.size() - has);
            if (n > 0) has += static_cast<std::size_t>(n);
            else if (n == 0 || errno != EINTR) return false;
        }
        return true;
    }
    /// A key may have any characters, a name of a file may not: what is neither letter, digit, '-', '_' nor
    /// '.' becomes a percent sign and two digits. All names begin with "key-", so none of them is ".." or
    /// hidden.
    std::string path_of(const std::string& key) const
    {
        constexpr char digits[] = "0123456789abcdef";
        std::string path = directory_ + "/key-";
        for (const char c : key) {
            const bool is_safe = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                                 c == '-' || c == '_' || c == '.';
            if (is_safe) {
                path += c;
                continue;
            }
            const auto code = static_cast<unsigned char>(c);
            path += '%';
            path += digits[code >> 4];
            path += digits[code & 15];
        }
        return path;
    }

    std::string directory_;
};

/// An exchange between ranks that are threads of one process, for tests.
class process_exchange final : public exchange {
public:
    void put(const std::string& key, const_byte_span value) override
    {
        {
            const std::lock_guard lock(mutex_);
            all_[key].assign(value.begin(), value.end());
        }
        changed_.notify_all();
    }
    bool get(const std::string& key, std::vector<std::byte>& value, double seconds) override
    {
        std::unique_lock lock(mutex_);
        const auto is_there = [&] { return all_.find(key) != all_.end(); };
        if (!changed_.wait_for(lock, std::chrono::duration<double>(seconds), is_there)) return false;
        value = all_[key];
        return true;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, std::vector<std::byte>> all_;
};

}  // namespace ccoll::inline CCOLL_ABI

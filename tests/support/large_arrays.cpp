// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// large_arrays.cpp - under AddressSanitizer, arrays of a megabyte or more are used again. Each communicator
// has some of them, and tests make thousands of communicators: to map and unmap such arrays and the
// sanitizer's notes about them took two fifths of the time. The linker puts these functions in front of the
// sanitizer's (--wrap). An array that waits is poisoned, so that a use of it is found as before.
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>

#include <sanitizer/asan_interface.h>

extern "C" {
void* __real__Znam(std::size_t bytes);     // operator new[]
void __real__ZdaPv(void* array) noexcept;  // operator delete[]
void* __wrap__Znam(std::size_t bytes);
void __wrap__ZdaPv(void* array) noexcept;
}

namespace {

constexpr std::size_t large = std::size_t{1} << 20;
constexpr std::size_t fewest_waiting = 8;  // an array is not used again before so many of its size are free
constexpr std::size_t most_waiting = std::size_t{256} << 20;  // bytes

struct arrays {
    std::mutex mutex;
    std::map<void*, std::size_t> used;
    std::map<std::size_t, std::deque<void*>> waiting;
    std::size_t waiting_bytes = 0;
};
// Never destroyed, because destructors of static objects free arrays, too.
arrays& all()
{
    static arrays& made = *new arrays;
    return made;
}

}  // namespace

void* __wrap__Znam(std::size_t bytes)
{
    if (bytes < large) return __real__Znam(bytes);
    arrays& a = all();
    const std::lock_guard lock(a.mutex);
    void* array = nullptr;
    if (std::deque<void*>& free = a.waiting[bytes]; free.size() > fewest_waiting) {
        array = free.front();
        free.pop_front();
        a.waiting_bytes -= bytes;
        __asan_unpoison_memory_region(array, bytes);
    } else {
        array = __real__Znam(bytes);
    }
    a.used[array] = bytes;
    return array;
}

void __wrap__ZdaPv(void* array) noexcept
{
    arrays& a = all();
    {
        const std::lock_guard lock(a.mutex);
        if (const auto mine = a.used.find(array); mine != a.used.end()) {
            const std::size_t bytes = mine->second;
            a.used.erase(mine);
            if (a.waiting_bytes + bytes <= most_waiting) {
                __asan_poison_memory_region(array, bytes);
                a.waiting[bytes].push_back(array);
                a.waiting_bytes += bytes;
                return;
            }
        }
    }
    __real__ZdaPv(array);
}

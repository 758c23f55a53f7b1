// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives on device buffers beside the same calls on host buffers, on ranks that are threads. The device
// is a GPU where nvcc compiles this, and else the emulator.
#pragma once

#if !defined(__CUDACC__)
#include "emulator/runtime.hpp"
#endif

#include <ccoll/cuda.cuh>
#include <ccoll/transport/threads.hpp>

#include "same_bits.hpp"
#include "support/slices.hpp"

#include <cstddef>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Runs `work(comm, wrong)` on p ranks. @return  what all of them have said in `wrong`
template <class Work>
std::string on_ranks(int p, Work work)
{
    std::mutex mutex;
    std::string wrong;
    ccoll::run_ranks(p, [&](ccoll::threads_comm& comm) {
        std::string mine;
        work(comm, mine);
        const std::lock_guard lock(mutex);
        wrong += mine;
    });
    return wrong;
}

/// Is how quanta and exceptional values are packed free, so that a device needs not as many bytes as the
/// host?
inline bool packs_freely(std::string_view codec)
{
    return codec == "SZp" || codec == "SZx" || codec == "PipeSZx";
}

/// In what two reports of one call differ, in words; "" if in nothing. Names are compared as text, because a
/// program can have several copies of one string literal.
/// @param of_elements  not 0: vectors may be cut into other slices, and elements have so many bytes    @see
///                     slices.hpp
inline std::string difference(const ccoll::report& a, const ccoll::report& b, std::size_t of_elements = 0)
{
    const bool fell_back = of_elements != 0 && a.fallback_blocks > 0 && b.fallback_blocks > 0;
    const auto same = [](const char* x, const char* y) { return std::string_view(x) == y; };
    std::string s;
    if (a.ran_by != b.ran_by)
        s += std::string("another hand, ") + name_of(a.ran_by) + " and " + name_of(b.ran_by) + "; ";
    if (!same(a.algorithm, b.algorithm) || !same(a.codec, b.codec) || !same(a.placement, b.placement))
        s += std::string("another plan, ") + a.algorithm + ' ' + a.codec + ' ' + a.placement + " and " +
             b.algorithm + ' ' + b.codec + ' ' + b.placement + "; ";
    const bool same_bytes = packs_freely(a.codec) ? (a.sent_bytes > 0) == (b.sent_bytes > 0)
                            : of_elements == 0    ? a.sent_bytes == b.sent_bytes
                                               : fell_back || slices::only_headers_differ(a, b, of_elements);
    if (!same_bytes)
        s += "other bytes, " + std::to_string(a.sent_bytes) + " and " + std::to_string(b.sent_bytes) + "; ";
    const bool same_counts =
        fell_back || ((packs_freely(a.codec) || a.fallback_blocks == b.fallback_blocks) &&
                      a.special_values == b.special_values);
    if (a.worst_case_error != b.worst_case_error || a.exact != b.exact || !same_counts)
        s += "another promise; ";
    return s;
}

/// Calls with host buffers and with device buffers on one rank. What differs is said in `wrong`.
/// @tparam Vector  elements in memory of the device, made from a std::vector, with span() and values()
template <class T, template <class> class Vector>
class beside_host {
public:
    explicit beside_host(std::string& wrong) : wrong_(wrong) {}

    /// @param call  (in, out) -> report    @param received  elements of `out`
    template <class Call>
    void compare(const std::string& what, const std::vector<T>& x, std::size_t received, Call call)
    {
        std::vector<T> y(received);
        if (received > 0) std::memset(static_cast<void*>(y.data()), 0x5a, received * sizeof(T));
        const Vector<T> in(x), out(y);
        const ccoll::report expected = call(x, y),
                            found = call(ccoll::device_span<const T>(in.span()), out.span());
        check(what, expected, found, std::max(x.size(), received), y, out.values());
        if (!same_bits(in.values(), x)) wrong_ += what + ": changed its input; ";
    }
    /// @param call  (both) -> report
    template <class Call>
    void in_place(const std::string& what, std::vector<T> x, Call call)
    {
        const Vector<T> both(x);
        const ccoll::report expected = call(x), found = call(both.span());
        check(what, expected, found, x.size(), x, both.values());
    }

private:
    static constexpr int most_ranks = 8;

    void check(const std::string& what, const ccoll::report& expected, const ccoll::report& found,
               std::size_t longest, const std::vector<T>& y, const std::vector<T>& of_device)
    {
        const bool cut_otherwise = slices::may_differ<ccoll::cuda_space, T>(longest, most_ranks);
        bool good = same_bits(y, of_device);
        if (!good && cut_otherwise && expected.fallback_blocks > 0) {
            good = y.size() == of_device.size();
            for (std::size_t i = 0; good && i < y.size(); ++i)
                good = slices::both_hold(y[i], of_device[i], expected, found, most_ranks);
        }
        if (!good) wrong_ += what + ": other bits; ";
        if (const std::string s = difference(expected, found, cut_otherwise ? sizeof(T) : 0); !s.empty())
            wrong_ += what + ": " + s;
    }

    std::string& wrong_;
};

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// policy/strided.hpp - floor 1. Elements with gaps between them: a column of a matrix, a face of a block.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

#include <ccoll/base/extremes.hpp>
#include <ccoll/policy/element.hpp>

namespace ccoll::inline CCOLL_ABI {

/// `blocks` runs of `length` elements, of which each begins `stride` elements after the one before. It refers
/// to the elements.
template <class T>
struct strided_view {
    T* first = nullptr;
    std::size_t blocks = 0, length = 0;
    std::ptrdiff_t stride = 0;

    constexpr std::size_t size() const { return blocks * length; }
    constexpr T* run(std::size_t i) const { return first + static_cast<std::ptrdiff_t>(i) * stride; }
};

/// A buffer of count * length elements in host memory, as MPI_Type_vector describes it, for blocking calls:
/// column j of a row-major matrix is strided(matrix + j, rows, 1, columns).
///
/// The call copies the elements together before it begins and, if it is the result buffer, back when it has
/// ended; for a call that throws, they stay as they were. Runs must not overlap in a result buffer.
/// Cost: memory for the elements, allocated in each call, and one pass over them each way.
template <class T>
    requires element<std::remove_const_t<T>>
constexpr strided_view<T> strided(T* first, std::size_t count, std::size_t length, std::ptrdiff_t stride)
{
    return {first, count, length, stride};
}

namespace detail {

template <class B>
inline constexpr bool is_strided_view = false;
template <class T>
inline constexpr bool is_strided_view<strided_view<T>> = true;
template <class B>
inline constexpr bool is_strided = is_strided_view<std::remove_cvref_t<B>>;

/// The elements of a view side by side.
template <class T>
class packed {
public:
    explicit packed(const strided_view<T>& view)
        : view_(view), copy_(std::make_unique_for_overwrite<std::remove_const_t<T>[]>(view.size())),
          all_(copy_.get(), view.size())
    {
        for (std::size_t i = 0; i < view.blocks; ++i)
            std::copy(view.run(i), view.run(i) + view.length, copy_.get() + i * view.length);
    }
    std::span<T>& elements() { return all_; }
    void spread() const
    {
        if constexpr (!std::is_const_v<T>)
            for (std::size_t i = 0; i < view_.blocks; ++i)
                std::copy(copy_.get() + i * view_.length, copy_.get() + (i + 1) * view_.length, view_.run(i));
    }

private:
    strided_view<T> view_;
    std::unique_ptr<std::remove_const_t<T>[]> copy_;
    std::span<T> all_;
};

/// Any other buffer, as it is.
template <class B>
class not_packed {
public:
    explicit not_packed(B& buffer) : buffer_(buffer) {}
    B& elements() { return buffer_; }
    void spread() const {}

private:
    B& buffer_;
};

template <class T>
packed<T> pack(const strided_view<T>& view)
{
    return packed<T>(view);
}
template <class B>
    requires(!is_strided<B>)
not_packed<B> pack(B& buffer)
{
    return not_packed<B>(buffer);
}

/// Calls `call(send, recv)` with the elements side by side. A view that is both is copied once.
template <class Send, class Recv, class Call>
auto with_packed(Send& send, Recv& recv, Call call)
{
    if constexpr (std::is_same_v<Send, Recv>) {
        if (&send == &recv) {
            auto both = pack(recv);
            auto result = call(both.elements(), both.elements());
            both.spread();
            return result;
        }
    }
    auto from = pack(send);
    auto to = pack(recv);
    auto result = call(from.elements(), to.elements());
    to.spread();
    return result;
}

}  // namespace detail
}  // namespace ccoll::inline CCOLL_ABI

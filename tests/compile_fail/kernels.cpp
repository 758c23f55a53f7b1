// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instruction sets that are not complete; as call.cpp. CCOLL_CASE picks one; case 0 is complete.
#include <concepts>
#include <cstddef>

#include <ccoll/codec/szx/kernels.hpp>

#define CCOLL_TARGET CCOLL_PLAIN
#include <ccoll/base/kernels_begin.inl>

namespace ccoll::detail::szx::somebodys {

template <class T>
struct values {
    values operator+(values) const;
    values operator-(values) const;
    values operator*(values) const;
};
struct words {};
struct shuffle {};

inline constexpr std::size_t register_bytes = 16;

template <class T>
values<T> load(const T* x);
template <class T>
values<T> fill(T x);
template <class T>
words bits(values<T> v);
template <class T>
values<T> lower(values<T> a, values<T> b);
template <class T>
values<T> higher(values<T> a, values<T> b);
template <class T>
T lowest_of(values<T> v);
template <class T>
T highest_of(values<T> v);
template <class T>
unsigned unordered(values<T> a, values<T> b);
inline unsigned either(unsigned a, unsigned b) { return a | b; }
template <class T>
values<T> worse(values<T> worst, values<T> error, values<T> bound);
template <class T>
shuffle squeeze_of(unsigned bytes);
template <class T>
shuffle spread_of(unsigned bytes);
template <class T>
values<T> low_bytes(const std::byte* in, shuffle spread, unsigned bytes);
template <class T>
void write(T* to, std::size_t at, values<T> v);
inline bool any(unsigned mask) { return mask != 0; }

#if CCOLL_CASE == 0
template <class T>
bool below(values<T> worst, values<T> bound);
template <class T>
void put_low_bytes(std::byte* out, words v, shuffle squeeze, unsigned bytes);
#elif CCOLL_CASE == 1
// expect: ccoll: an instruction set of SZx must have every primitive that szx/loops.inl lists, for float and double
template <class T>
void put_low_bytes(std::byte* out, words v, shuffle squeeze, unsigned bytes);
#elif CCOLL_CASE == 2
// expect: ccoll: an instruction set of SZx must have every primitive that szx/loops.inl lists, for float and double
template <class T>
bool below(values<T> worst, values<T> bound);
template <class T>
void put_low_bytes(std::byte* out, values<T> v, shuffle squeeze, unsigned bytes);
#endif

#include <ccoll/codec/szx/loops.inl>

#if CCOLL_CASE == 0
template unsigned encode_block<float>(const float*, block_plan<float>, const block_scale<float>&,
                                      std::byte*) noexcept;
template void decode_block<double>(unsigned, const std::byte*, double, double*) noexcept;
#endif

}  // namespace ccoll::detail::szx::somebodys

#include <ccoll/base/kernels_end.inl>

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/elements.cuh - floor 4. Kernels for what a reduction does to elements: combine two arrays, divide one. Other operations than the
// library's arithmetic ones are functions of the host, and are called there.
#pragma once

#include <ccoll/cuda/runtime.cuh>
#include <ccoll/policy/reduce_op.hpp>

namespace ccoll::inline CCOLL_ABI::detail::device {

enum class arithmetic : u32 { sum, minimum, maximum, product };

/// As Op::Sum, Min, Max and Prod: if an operand of Min or Max is NaN, so is the result.
template <class T>
CCOLL_DEVICE T apply(arithmetic op, T a, T b)
{
    if (op == arithmetic::sum) return plus(a, b);
    if (op == arithmetic::product) return times(a, b);
    if (a != a) return a;
    if (b != b) return b;
    return (op == arithmetic::minimum ? b < a : a < b) ? b : a;
}

inline constexpr u32 elements_of_thread = 8;

template <class T>
__global__ __launch_bounds__(team_threads) void combine(arithmetic op, const T* left, const T* right, T* into, u64 n)
{
    u64 i = u64{blockIdx.x} * team_threads * elements_of_thread + threadIdx.x;
    CCOLL_UNROLL
    for (u32 j = 0; j < elements_of_thread; ++j, i += team_threads)
        if (i < n) into[i] = apply(op, left[i], right[i]);
}
template <class T>
__global__ __launch_bounds__(team_threads) void divide(T* values, T by, u64 n)
{
    u64 i = u64{blockIdx.x} * team_threads * elements_of_thread + threadIdx.x;
    CCOLL_UNROLL
    for (u32 j = 0; j < elements_of_thread; ++j, i += team_threads)
        if (i < n) values[i] = values[i] / by;
}

inline u32 blocks_for(std::size_t n)
{
    constexpr std::size_t of_block = team_threads * elements_of_thread;
    return static_cast<u32>((n + of_block - 1) / of_block);
}

/// Is this the host's function of an operation that has a kernel?
template <class T>
bool find_arithmetic(const reduction<T>& op, arithmetic& which)
{
    namespace Op = policies::Op;
    const auto is = [&](const reduction<T>& known, arithmetic a) {
        if (op.combine == known.combine) which = a;
        return op.combine == known.combine;
    };
    return is(reduction_of<Op::Sum, T>, arithmetic::sum) || is(reduction_of<Op::Average, T>, arithmetic::sum) ||
           is(reduction_of<Op::Min, T>, arithmetic::minimum) || is(reduction_of<Op::Max, T>, arithmetic::maximum) ||
           is(reduction_of<Op::Prod, T>, arithmetic::product);
}
template <class T>
bool has_kernel(const reduction<T>& op)
{
    arithmetic which;
    return find_arithmetic(op, which);
}
/// into = own op theirs, with the operands swapped where the operation says so.
template <class T>
cudaError_t begin_combine(const reduction<T>& op, const T* own, const T* theirs, T* into, std::size_t n, cudaStream_t stream)
{
    arithmetic which{};
    if (n == 0 || !find_arithmetic(op, which)) return cudaSuccess;
    const T* const left = op.theirs_on_the_left ? theirs : own;
    const T* const right = op.theirs_on_the_left ? own : theirs;
    return launch(&combine<T>, blocks_for(n), 0, stream, which, left, right, into, u64{n});
}
template <class T>
cudaError_t begin_divide(T* values, int ranks, std::size_t n, cudaStream_t stream)
{
    if (n == 0) return cudaSuccess;
    return launch(&divide<T>, blocks_for(n), 0, stream, values, static_cast<T>(ranks), u64{n});
}

}  // namespace ccoll::detail::device

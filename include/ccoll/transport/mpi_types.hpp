// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// transport/mpi_types.hpp - floor 2. What MPI calls our elements and operations.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include <ccoll/policy/reduce_op.hpp>
#include <ccoll/transport/mpi_calls.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// The operations that MPI's own collectives can do for us.
enum class native_op { sum, prod, min, max, bit_and, bit_or, bit_xor, logical_and, logical_or, logical_xor };

/// How MPI names elements T. A type without a name travels as bytes, and cannot be reduced by MPI.
template <element T>
struct mpi_elements {
    static constexpr bool is_integer = std::is_integral_v<T> && !std::same_as<T, bool>;
    static constexpr bool is_number = is_integer || native_float<T>;
    static constexpr std::size_t each = is_number ? 1 : sizeof(T);  ///< of type() in one element

    static MPI_Datatype type()
    {
        if constexpr (std::same_as<T, float>) return MPI_FLOAT;
        else if constexpr (std::same_as<T, double>) return MPI_DOUBLE;
        else if constexpr (!is_integer) return MPI_BYTE;
        else if constexpr (sizeof(T) == 1) return std::is_signed_v<T> ? MPI_INT8_T : MPI_UINT8_T;
        else if constexpr (sizeof(T) == 2) return std::is_signed_v<T> ? MPI_INT16_T : MPI_UINT16_T;
        else if constexpr (sizeof(T) == 4) return std::is_signed_v<T> ? MPI_INT32_T : MPI_UINT32_T;
        else return std::is_signed_v<T> ? MPI_INT64_T : MPI_UINT64_T;
    }
};

/// The native operation behind a policy tag; not available for a user's own.
template <native_op Op, bool Floats>
struct native_op_is {
    static constexpr native_op value = Op;
    static constexpr bool floats = Floats;
};
template <class OpTag>
struct mpi_op_of {};
template <>
struct mpi_op_of<policies::Op::Sum> : native_op_is<native_op::sum, true> {};
template <>
struct mpi_op_of<policies::Op::Average> : native_op_is<native_op::sum, true> {};  // the caller divides the sum
template <>
struct mpi_op_of<policies::Op::Prod> : native_op_is<native_op::prod, true> {};
template <>
struct mpi_op_of<policies::Op::Min> : native_op_is<native_op::min, true> {};
template <>
struct mpi_op_of<policies::Op::Max> : native_op_is<native_op::max, true> {};
template <>
struct mpi_op_of<policies::Op::BitAnd> : native_op_is<native_op::bit_and, false> {};
template <>
struct mpi_op_of<policies::Op::BitOr> : native_op_is<native_op::bit_or, false> {};
template <>
struct mpi_op_of<policies::Op::BitXor> : native_op_is<native_op::bit_xor, false> {};
template <>
struct mpi_op_of<policies::Op::And> : native_op_is<native_op::logical_and, false> {};
template <>
struct mpi_op_of<policies::Op::Or> : native_op_is<native_op::logical_or, false> {};
template <>
struct mpi_op_of<policies::Op::Xor> : native_op_is<native_op::logical_xor, false> {};

/// The same for elements T.
template <class OpTag, class T>
struct native_op_on {
    static constexpr bool available = false;
};
template <class OpTag, class T>
    requires(mpi_elements<T>::is_number && requires { mpi_op_of<OpTag>::value; } &&
             (mpi_elements<T>::is_integer || mpi_op_of<OpTag>::floats))
struct native_op_on<OpTag, T> {
    static constexpr bool available = true;
    static constexpr native_op value = mpi_op_of<OpTag>::value;
};

/// Op::Min and Op::Max as operations of MPI. MPI_MIN and MPI_MAX keep or lose a NaN depending on the order of the ranks, and may leave
/// different bits on different ranks. Here the operands are first ordered by their bits, so the result does not depend on the order of the
/// ranks, even for two NaNs or two zeros.
template <class OpTag, native_float T>
void select(const T* in, T* inout, int n) noexcept
{
    using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    for (int i = 0; i < n; ++i) {
        const T a = in[i], b = inout[i];
        inout[i] = std::bit_cast<bits>(a) < std::bit_cast<bits>(b) ? OpTag::apply(a, b) : OpTag::apply(b, a);
    }
}
template <class OpTag>
void mpi_select(void* in, void* inout, int* n, MPI_Datatype* type)
{
    if (*type == MPI_FLOAT) select<OpTag>(static_cast<const float*>(in), static_cast<float*>(inout), *n);
    else select<OpTag>(static_cast<const double*>(in), static_cast<double*>(inout), *n);
}

}  // namespace ccoll::inline CCOLL_ABI::detail

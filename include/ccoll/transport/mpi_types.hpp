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
struct mpi_op_of<policies::Op::Average> : native_op_is<native_op::sum, true> {
};  // the caller divides the sum
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

/// Op::Min and Op::Max as operations of MPI. MPI_MIN and MPI_MAX keep or lose a NaN depending on the order of
/// the ranks, and may leave different bits on different ranks. Here the operands are first ordered by their
/// bits, so the result does not depend on the order of the ranks, even for two NaNs or two zeros. Those of
/// some MPIs also compare unsigned integers as signed ones (mpi_compares_as_signed).
template <class OpTag, class T>
void select(const void* in, void* inout, int n) noexcept
{
    using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    const T* const from = static_cast<const T*>(in);
    T* const to = static_cast<T*>(inout);
    for (int i = 0; i < n; ++i) {
        const T a = from[i], b = to[i];
        if constexpr (std::is_integral_v<T>) to[i] = OpTag::apply(a, b);
        else
            to[i] = std::bit_cast<bits>(a) < std::bit_cast<bits>(b) ? OpTag::apply(a, b) : OpTag::apply(b, a);
    }
}
/// Calls `use(std::type_identity<T>)` for the T behind a name of MPI, if it is one that our operations are
/// for.
template <class Use>
void with_number(MPI_Datatype type, Use use)
{
    const auto is = [type](auto... names) { return ((type == names) || ...); };
    if (is(MPI_FLOAT)) use(std::type_identity<float>{});
    else if (is(MPI_DOUBLE)) use(std::type_identity<double>{});
    else if (is(MPI_UINT8_T, MPI_UNSIGNED_CHAR)) use(std::type_identity<std::uint8_t>{});
    else if (is(MPI_UINT16_T, MPI_UNSIGNED_SHORT)) use(std::type_identity<std::uint16_t>{});
    else if (is(MPI_UINT32_T, MPI_UNSIGNED)) use(std::type_identity<std::uint32_t>{});
    else if (is(MPI_UNSIGNED_LONG)) use(std::type_identity<unsigned long>{});
    else if (is(MPI_UINT64_T, MPI_UNSIGNED_LONG_LONG)) use(std::type_identity<std::uint64_t>{});
}
template <class OpTag>
void mpi_select(void* in, void* inout, int* n, MPI_Datatype* type)
{
    with_number(*type, [&]<class T>(std::type_identity<T>) { select<OpTag, T>(in, inout, *n); });
}

/// Do MPI_MIN and MPI_MAX take numbers of this type, an unsigned one, for signed ones? MPICH 4.0 does so with
/// all unsigned types, Open MPI 4.1 with MPI_UNSIGNED_LONG. Local. Cost: two calls of MPI_Reduce_local.
inline bool mpi_compares_as_signed(MPI_Datatype type)
{
    bool wrong = false;
    with_number(type, [&]<class T>(std::type_identity<T>) {
        if constexpr (std::is_unsigned_v<T>) {
            const T one = 1, largest = static_cast<T>(~T{});
            T least = largest, most = one;
            wrong = CCOLL_MPI(Reduce_local)(&one, &least, 1, type, MPI_MIN) != MPI_SUCCESS || least != one ||
                    CCOLL_MPI(Reduce_local)(&largest, &most, 1, type, MPI_MAX) != MPI_SUCCESS ||
                    most != largest;
        }
    });
    return wrong;
}
/// Do they compare unsigned elements of ours as such?
inline bool mpi_compares_unsigned()
{
    return !mpi_compares_as_signed(mpi_elements<std::uint8_t>::type()) &&
           !mpi_compares_as_signed(mpi_elements<std::uint16_t>::type()) &&
           !mpi_compares_as_signed(mpi_elements<std::uint32_t>::type()) &&
           !mpi_compares_as_signed(mpi_elements<std::uint64_t>::type());
}

}  // namespace ccoll::inline CCOLL_ABI::detail

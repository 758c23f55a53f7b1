// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// transport/mpi_signature.hpp - floor 2. What an MPI_Datatype consists of. MPI matches calls by their
// signatures, the elements in their order, so ranks may describe the same elements by different types. What
// ranks have to decide alike must follow from the signature.
#pragma once

#include <cstddef>
#include <vector>

#include <ccoll/transport/mpi_calls.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// Elements that a codec may know, by their bits.
enum class mpi_element { other, half, bfloat16, f32, f64, i32, i64, u32, u64 };

/// The signature of one item of a datatype, if it has elements of one kind only.
struct mpi_signature {
    mpi_element element = mpi_element::other;  ///< other: elements that no codec knows, or of several kinds
    std::size_t each = 1;                      ///< elements in one item
    bool complex = false;       ///< some are parts of complex numbers, which only sums treat alike
    bool dense = true;          ///< items lie in memory as their elements do in an array
    bool may_be_freed = false;  ///< the handle is not one of MPI's own

    bool known() const { return element != mpi_element::other; }
};

template <class... Names>
bool is_named(MPI_Datatype type, Names... names)
{
    return (false || ... || (type == names));
}

inline MPI_Count size_of(MPI_Datatype type)
{
    MPI_Count bytes = 0;
    CCOLL_MPI(Type_size_x)(type, &bytes);
    return bytes;
}

inline mpi_element float_of(MPI_Count bytes)
{
    return bytes == 4 ? mpi_element::f32 : bytes == 8 ? mpi_element::f64 : mpi_element::other;
}
inline mpi_element integer_of(MPI_Count bytes)
{
    return bytes == 4 ? mpi_element::i32 : bytes == 8 ? mpi_element::i64 : mpi_element::other;
}
inline mpi_element unsigned_of(MPI_Count bytes)
{
    return bytes == 4 ? mpi_element::u32 : bytes == 8 ? mpi_element::u64 : mpi_element::other;
}

/// For the types that MPI has names for. How long those of Fortran are depends on how MPI was built, so MPI
/// is asked.
inline mpi_signature signature_of_name(MPI_Datatype type)
{
#if defined(MPIX_C_FLOAT16)
    if (type == MPIX_C_FLOAT16) return {mpi_element::half};
#endif
    if (is_named(type, MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL4, MPI_REAL8))
        return {float_of(size_of(type))};
    if (is_named(type, MPI_C_COMPLEX, MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_CXX_FLOAT_COMPLEX,
                 MPI_CXX_DOUBLE_COMPLEX, MPI_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_COMPLEX8, MPI_COMPLEX16))
        return {float_of(size_of(type) / 2), 2, true};
    if (is_named(type, MPI_2REAL, MPI_2DOUBLE_PRECISION)) return {float_of(size_of(type) / 2), 2};
    if (is_named(type, MPI_INT, MPI_LONG, MPI_LONG_LONG, MPI_INT32_T, MPI_INT64_T, MPI_INTEGER, MPI_INTEGER4,
                 MPI_INTEGER8, MPI_AINT, MPI_OFFSET, MPI_COUNT))
        return {integer_of(size_of(type))};
    if (is_named(type, MPI_2INT, MPI_2INTEGER)) return {integer_of(size_of(type) / 2), 2};
    if (is_named(type, MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG, MPI_UINT32_T, MPI_UINT64_T))
        return {unsigned_of(size_of(type))};
    return {};
}

/// How a type was made, as MPI remembers it.
class mpi_construction {
public:
    explicit mpi_construction(MPI_Datatype type) : type_(type)
    {
#if MPI_VERSION >= 4
        CCOLL_MPI(Type_get_envelope_c)(type, &integers_, &addresses_, &counts_, &types_, &combiner_);
#else
        CCOLL_MPI(Type_get_envelope)(type, &integers_, &addresses_, &types_, &combiner_);
#endif
    }
    int combiner() const { return combiner_; }

    /// Calls `use` with each type that this one consists of. MPI makes handles of those that are not its own,
    /// and they are freed here.
    /// @param use  (MPI_Datatype) -> its mpi_signature
    template <class Use>
    void for_each_part(Use use) const
    {
        std::vector<int> integers(room(integers_));
        std::vector<MPI_Aint> addresses(room(addresses_));
        std::vector<MPI_Datatype> types(room(types_));
#if MPI_VERSION >= 4
        std::vector<MPI_Count> counts(room(counts_));
        CCOLL_MPI(Type_get_contents_c)
        (type_, integers_, addresses_, counts_, types_, integers.data(), addresses.data(), counts.data(),
         types.data());
        const auto length = [&](std::size_t i) { return counts_ > 0 ? counts[i] : MPI_Count{integers[i]}; };
#else
        CCOLL_MPI(Type_get_contents)(type_, integers_, addresses_, types_, integers.data(), addresses.data(),
                                     types.data());
        const auto length = [&](std::size_t i) { return integers[i]; };
#endif
        for (std::size_t i = 0; i < static_cast<std::size_t>(types_); ++i) {
            // Only a struct has several types. Its numbers are how many there are, and then the length of
            // each.
            const bool of_struct = types_ > 1;
            if (use(types[i], !of_struct || length(1 + i) > 0).may_be_freed) CCOLL_MPI(Type_free)(&types[i]);
        }
    }

private:
#if MPI_VERSION >= 4
    using number = MPI_Count;
    number counts_ = 0;
#else
    using number = int;
#endif
    template <class Number>
    static std::size_t room(Number n)
    {
        return static_cast<std::size_t>(n) + 1;  // an empty array might have no address
    }

    MPI_Datatype type_;
    number integers_ = 0, addresses_ = 0, types_ = 0;
    int combiner_ = MPI_COMBINER_NAMED;
};

/// MPI_Datatype of any kind. Cost: a few comparisons for the types that MPI has names for. For others as many
/// steps as their description has parts, at most as many as an item has elements.
inline mpi_signature signature_of(MPI_Datatype type)
{
    if (type == MPI_FLOAT) return {mpi_element::f32};
    if (type == MPI_DOUBLE) return {mpi_element::f64};
    if (type == MPI_DATATYPE_NULL) return {};
    const mpi_construction made(type);
    const MPI_Count bytes = size_of(type);
    switch (made.combiner()) {
    case MPI_COMBINER_NAMED: return signature_of_name(type);
    case MPI_COMBINER_F90_REAL: return {float_of(bytes)};
    case MPI_COMBINER_F90_COMPLEX: return {float_of(bytes / 2), 2, true};
    case MPI_COMBINER_F90_INTEGER: return {integer_of(bytes)};
    default: break;
    }
    MPI_Count lowest = 0, extent = 0;
    CCOLL_MPI(Type_get_extent_x)(type, &lowest, &extent);
    mpi_signature all;
    // Of these, and if the elements fill the item, only one leaves their order open, and it has negative
    // strides and so a negative start.
    const bool in_order = made.combiner() == MPI_COMBINER_DUP || made.combiner() == MPI_COMBINER_CONTIGUOUS ||
                          made.combiner() == MPI_COMBINER_VECTOR || made.combiner() == MPI_COMBINER_HVECTOR ||
                          made.combiner() == MPI_COMBINER_RESIZED;
    all.dense = in_order && lowest == 0 && extent == bytes;
    bool first = true, mixed = false;
    std::size_t element_bytes = 1;
    made.for_each_part([&](MPI_Datatype part, bool used) {
        const mpi_signature each = signature_of(part);
        const MPI_Count part_bytes = size_of(part);
        if (used && part_bytes > 0) {
            mixed |= !each.known() || (!first && each.element != all.element);
            all.element = each.element;
            all.complex |= each.complex;
            all.dense &= each.dense;
            if (each.each > 0) element_bytes = static_cast<std::size_t>(part_bytes) / each.each;
            first = false;
        }
        return each;
    });
    if (mixed) all.element = mpi_element::other;
    all.each = static_cast<std::size_t>(bytes) / element_bytes;
    all.may_be_freed = true;
    return all;
}

}  // namespace ccoll::inline CCOLL_ABI::detail

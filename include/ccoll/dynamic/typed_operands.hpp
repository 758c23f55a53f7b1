// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// dynamic/typed_operands.hpp - floor 3. The arguments of calls with MPI's own types (typed.hpp).
#pragma once

#include <cstddef>

#include <ccoll/policy/element.hpp>
#include <ccoll/transport/mpi_signature.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace typed {

/// The type of elements: an MPI_Datatype, or a two-byte float, for which most versions of MPI have no name
/// (elements_of).
class element_type {
public:
    /// MPICH's MPIX_C_FLOAT16 is known as well.
    element_type(MPI_Datatype type) : type_(type) {}
    /// @param exponent_bits  5: IEEE half, 8: bfloat16
    /// @param type  MPI's name for it, or MPI_DATATYPE_NULL
    element_type(int exponent_bits, MPI_Datatype type) : type_(type), exponent_bits_(exponent_bits) {}

    MPI_Datatype mpi() const { return type_; }
    detail::mpi_signature signature() const
    {
        if (exponent_bits_ == 5) return {detail::mpi_element::half};
        if (exponent_bits_ == 8) return {detail::mpi_element::bfloat16};
        return detail::signature_of(type_);
    }

private:
    MPI_Datatype type_;
    int exponent_bits_ = 0;  // 0: what MPI says
};

/// Takes the place of an MPI_Datatype: elements are ccoll::half, ccoll::bfloat16, or a type for which
/// ccoll::exponent_bits_of is specialised, such as c10::BFloat16.
/// @param type  your own committed datatype for them, if there is one. Calls that no plan can do then go to
///              MPI with it, for example those with your own MPI_Op. Without it they are refused.
template <small_float T>
element_type elements_of(MPI_Datatype type = MPI_DATATYPE_NULL)
{
    return {exponent_bits_of<T>, type};
}

}  // namespace typed

namespace detail::typed {

/// The arguments of a call, as in MPI's own call. For a call with one buffer, send and recv are both that
/// buffer.
struct operands {
    const void* send;
    void* recv;
    std::size_t n;
    ccoll::typed::element_type type;
    MPI_Op op;
    int root;
    MPI_Comm comm;
};

inline bool is_marker(const void* address) { return address == MPI_IN_PLACE; }

}  // namespace detail::typed
}  // namespace ccoll::inline CCOLL_ABI

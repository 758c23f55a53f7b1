// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// dynamic/packed_items.hpp - floor 3. Items of a datatype of MPI whose elements do not lie one after another,
// and the same elements in a row.
#pragma once

#include <algorithm>
#include <climits>
#include <cstddef>
#include <utility>

#include <ccoll/transport/mpi_signature.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// A datatype, to pack and unpack its items. It is a copy, because the program may free its own while a call
/// is under way.
class packed_items {
public:
    packed_items() = default;
    explicit packed_items(MPI_Datatype type) : bytes_(static_cast<std::size_t>(size_of(type)))
    {
        CCOLL_MPI(Type_dup)(type, &type_);
        MPI_Count lowest = 0, stride = 0;
        CCOLL_MPI(Type_get_extent_x)(type_, &lowest, &stride);
        stride_ = stride;
    }
    packed_items(packed_items&& other) noexcept { *this = std::move(other); }
    packed_items& operator=(packed_items&& other) noexcept
    {
        std::swap(type_, other.type_);
        std::swap(bytes_, other.bytes_);
        std::swap(stride_, other.stride_);
        return *this;
    }
    ~packed_items()
    {
        int over = 0;
        if (type_ != MPI_DATATYPE_NULL) CCOLL_MPI(Finalized)(&over);
        if (type_ != MPI_DATATYPE_NULL && over == 0) CCOLL_MPI(Type_free)(&type_);
    }

    /// Of the elements of an item, without gaps.
    std::size_t bytes() const { return bytes_; }
    MPI_Datatype type() const { return type_; }

    /// @param first  the place of the first item, counted in items
    /// @return       the end of what has been written to `elements`
    std::byte* pack(const void* users, long long first, std::size_t n, std::byte* elements) const
    {
        return each_piece(users, first, n, elements,
                          [this](char* at, int items, std::byte* packed, int bytes) {
                              int position = 0;
                              CCOLL_MPI(Pack)(at, items, type_, packed, bytes, &position, MPI_COMM_SELF);
                          });
    }
    /// @return  the end of what has been read of `elements`
    std::byte* unpack(std::byte* elements, void* users, long long first, std::size_t n) const
    {
        return each_piece(users, first, n, elements,
                          [this](char* at, int items, std::byte* packed, int bytes) {
                              int position = 0;
                              CCOLL_MPI(Unpack)(packed, bytes, &position, at, items, type_, MPI_COMM_SELF);
                          });
    }

private:
    /// MPI counts the bytes of packed data with int.
    template <class Do>
    std::byte* each_piece(const void* users, long long first, std::size_t n, std::byte* elements,
                          Do pack_or_unpack) const
    {
        const std::size_t most = std::max<std::size_t>(1, INT_MAX / std::max<std::size_t>(1, bytes_));
        char* at = static_cast<char*>(const_cast<void*>(users)) + first * stride_;
        for (std::size_t left = n; left > 0;) {
            const std::size_t some = std::min(left, most);
            pack_or_unpack(at, static_cast<int>(some), elements, static_cast<int>(some * bytes_));
            at += static_cast<std::ptrdiff_t>(some) * stride_;
            elements += some * bytes_;
            left -= some;
        }
        return elements;
    }

    MPI_Datatype type_ = MPI_DATATYPE_NULL;
    std::size_t bytes_ = 0;
    std::ptrdiff_t stride_ = 0;
};

}  // namespace ccoll::inline CCOLL_ABI::detail

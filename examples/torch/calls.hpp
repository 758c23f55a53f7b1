// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// calls.hpp - collectives on memory whose element type, operation and bound are known at run time. Knows nothing of torch, so that calls.cpp
// is compiled without its headers, and other files without those of the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <ccoll/transport/mpi_calls.hpp>  // includes <mpi.h>

#include "worker.hpp"

namespace ccoll_torch {

enum class number : std::uint8_t { f32, f64, f16, bf16, i8, u8, i16, i32, i64 };
enum class operation : std::uint8_t { sum, average, min, max, product, bit_and, bit_or, bit_xor };

const char* name_of(number);
std::size_t bytes_of(number);
inline bool is_float(number type) { return type <= number::bf16; }

/// So many bits for a value of the largest magnitude of all ranks: ccoll's FixedBits.
struct bits {
    int count;
};
/// How exact a call is: nothing, an absolute bound of one compression, or bits.
using precision = std::optional<std::variant<double, bits>>;

/// @throw std::invalid_argument with a sentence if there is no such precision
void check(const precision&);

struct vector_of {
    void* data;
    std::size_t n;
    number type;
};

// All of these run on the worker's thread. What cannot be compressed (integers, products) is exact, whatever the precision says. Every rank
// is told if ranks differ in length, type or precision of a compressed call.
test_function begin_allreduce(vector_of, operation, const precision&, MPI_Comm);
test_function begin_reduce(vector_of, operation, const precision&, int root, MPI_Comm);
/// `n` is that of `out`, a part.
test_function begin_reduce_scatter(const void* in, vector_of out, operation, const precision&, MPI_Comm);
/// `in` may be the rank's part of `out`; `n` is that of a part.
test_function begin_allgather(const void* in, vector_of out, const precision&, MPI_Comm);
test_function begin_bcast(vector_of, const precision&, int root, MPI_Comm);
test_function begin_gather(const void* in, vector_of out, int root, MPI_Comm);
test_function begin_scatter(const void* in, vector_of out, int root, MPI_Comm);

/// Counts of elements of each rank's part. Parts follow each other without gaps.
struct parts {
    std::vector<int> counts, displacements;
    static parts of(const std::vector<std::int64_t>& counts);
};
test_function begin_alltoall(const void* in, parts in_parts, void* out, parts out_parts, number type, const precision&, MPI_Comm);

test_function begin_barrier(MPI_Comm);
test_function begin_send(const void* data, std::size_t bytes, int to, int tag, MPI_Comm);
/// @param from  null: from any rank
/// @param found  is told the sender; may be null
test_function begin_recv(void* data, std::size_t bytes, std::optional<int> from, int tag, MPI_Comm, std::shared_ptr<int> found);

/// Takes part in the next call of the other ranks only to tell them that this rank cannot, so that they do not wait for it.
test_function begin_refusal(MPI_Comm);

/// Average with error feedback (ccoll/error_feedback.hpp): what one step cuts off is added to the next.
class feedback {
public:
    virtual ~feedback() = default;
    /// Blocks. The vector has the length and the type that `make` was told.
    virtual ccoll::report average(void* gradient, const precision&, MPI_Comm) = 0;
    static std::unique_ptr<feedback> make(number type, std::size_t n);
};

}  // namespace ccoll_torch

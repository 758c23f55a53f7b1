// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// calls.hpp - collectives on memory whose element type, operation and bound are known at run time. Knows
// nothing of torch, so that calls.cpp is compiled without its headers, and other files without those of the
// engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include <ccoll/instrument/report.hpp>

#include "link.hpp"

namespace ccoll_torch {

/// A call under way: true when it has ended, with its report. Throws what went wrong.
using test_function = std::function<bool(ccoll::report&)>;
/// Begins a call, on the progress thread. It is kept until the call has ended, and with it the buffers that
/// it has captured.
using begin_function = std::function<test_function()>;

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

/// Memory of the host, or of a GPU.
struct place {
    int gpu = -1;                  ///< its number; -1: the host
    const void* stream = nullptr;  ///< whose work comes before the call (cudaStream_t)
};
/// Can calls work on this type in the memory of a GPU? What they only move is of any type. Everything else,
/// and all tensors where the extension was built without nvcc, goes through memory of the host.
bool works_on_gpu(number);
bool moves_on_gpu();

/// The input of a call, where it is another vector, is in the same place.
struct vector_of {
    void* data;
    std::size_t n;
    number type;
    place where{};
};

// All of these run on the progress thread. What cannot be compressed (integers, products) is exact, whatever
// the precision says. Every rank is told if ranks differ in length, type, operation or precision of a call.
test_function begin_allreduce(vector_of, operation, const precision&, const communicator&);
test_function begin_reduce(vector_of, operation, const precision&, int root, const communicator&);
/// `n` is that of `out`, a part.
test_function begin_reduce_scatter(const void* in, vector_of out, operation, const precision&,
                                   const communicator&);
/// `in` may be the rank's part of `out`; `n` is that of a part.
test_function begin_allgather(const void* in, vector_of out, const precision&, const communicator&);
test_function begin_bcast(vector_of, const precision&, int root, const communicator&);
/// `n` and `type` are those of a part. Only the root has `out`, or `in` of a scatter.
test_function begin_gather(const void* in, vector_of out, int root, const communicator&);
test_function begin_scatter(const void* in, vector_of out, int root, const communicator&);

/// Counts of elements of each rank's part. Parts follow each other without gaps.
struct parts {
    std::vector<int> counts, displacements;
    static parts of(const std::vector<std::int64_t>& counts);
};
/// `out.n` is not used.
test_function begin_alltoall(const void* in, const parts& in_parts, vector_of out, const parts& out_parts,
                             const precision&, const communicator&);

test_function begin_barrier(const communicator&);
/// For a rank that cannot take part in a collective call: the others are given an error, and do not wait. If
/// all ranks do this, nothing is wrong.
test_function begin_refusal(const communicator&);

/// Receives that are under way. Only the progress thread uses it.
struct open_receives;
std::shared_ptr<open_receives> no_receives();

/// @param tag  0 to 4095
test_function begin_send(vector_of, int to, int tag, const communicator&);
/// @param from  null: from any rank
/// @param found  is told the sender; may be null
test_function begin_recv(vector_of, std::optional<int> from, int tag, const communicator&,
                         const std::shared_ptr<open_receives>&, std::shared_ptr<int> found);

}  // namespace ccoll_torch

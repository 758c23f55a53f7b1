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
#include <string>
#include <variant>
#include <vector>

#include <ccoll/instrument/report.hpp>
#include <ccoll/transport/mpi_calls.hpp>  // includes <mpi.h>

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

struct vector_of {
    void* data;
    std::size_t n;
    number type;
};

// All of these run on the progress thread. What cannot be compressed (integers, products) is exact, whatever
// the precision says. Every rank is told if ranks differ in length, type or precision of a compressed call.
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
test_function begin_alltoall(const void* in, parts in_parts, void* out, parts out_parts, number type,
                             const precision&, MPI_Comm);

test_function begin_barrier(MPI_Comm);
test_function begin_send(const void* data, std::size_t bytes, int to, int tag, MPI_Comm);
/// @param from  null: from any rank
/// @param found  is told the sender; may be null
test_function begin_recv(void* data, std::size_t bytes, std::optional<int> from, int tag, MPI_Comm,
                         std::shared_ptr<int> found);

/// The averages of one communication hook: they begin in the order in which they are given, each when the
/// bound of Bits is known.
class averages_in_turn {
public:
    /// @param sums, maxima  communicators that nothing else uses
    averages_in_turn(MPI_Comm sums, MPI_Comm maxima) : sums_(sums), maxima_(maxima) {}

    /// Average with error feedback (ccoll/error_feedback.hpp): what one step cuts off is added to the next.
    class memory {
    public:
        virtual ~memory() = default;
        virtual double largest(const void* gradient) const = 0;
        virtual test_function begin(void* gradient, double bound, MPI_Comm) = 0;
        static std::unique_ptr<memory> make(number type, std::size_t n);
    };
    /// @param of  null: without feedback
    test_function begin(vector_of gradient, const precision&, memory* of);
    /// For a rank that cannot make its average: takes its turn only to tell the others, which are given an
    /// error and do not wait.
    test_function refuse(const precision&, bool with_feedback);

private:
    /// Needs the largest magnitude of all ranks first?
    static bool asks(const precision& wanted, bool with_feedback)
    {
        return with_feedback && wanted && std::holds_alternative<bits>(*wanted);
    }
    test_function in_turn(std::optional<double> largest, std::function<test_function(double)> begin);

    MPI_Comm sums_, maxima_;
    std::size_t given_ = 0, begun_ = 0;  // only the progress thread uses them
};

}  // namespace ccoll_torch

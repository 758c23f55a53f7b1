// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a driver (ranks as threads, or MPI) knows of the rows of one element type: how to draw an entry, run
// it on a rank, and judge it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "spec.hpp"

namespace matrix {

/// What one rank tells the others about an entry.
struct summary {
    std::uint64_t bits = 0;             ///< a hash of its result
    std::uint64_t kept_exactly = 0;     ///< blocks and values
    std::uint64_t told = 0;             ///< the call threw ccoll::error
    std::uint64_t everybody_equal = 0;  ///< the result must have these bits on all ranks
};

/// One entry: the data of all ranks, and what the ranks of this process saw.
template <class Comm>
class job {
public:
    virtual ~job() = default;
    /// On the rank's own thread. @param between  another call on `comm`, for calls that overlap
    virtual void run(int rank, const Comm& comm, void (*between)(const Comm&)) = 0;
    /// What is wrong with what the rank saw; "" if nothing.
    virtual std::string judge(int rank) = 0;
    virtual summary tell(int rank) const = 0;
    /// What is wrong with the results of all ranks together; "" if nothing.
    virtual std::string judge_all(const std::vector<summary>& ranks) const = 0;
};

template <class Comm>
class suite {
public:
    virtual ~suite() = default;
    virtual const char* element() const = 0;
    virtual std::size_t rows() const = 0;
    /// A healthy entry of this row. Whatever the row leaves open is drawn.
    virtual spec draw(std::size_t row, int p, fields::generator& random) const = 0;
    /// The same entry with one rank that differs. @return false if nothing could differ
    virtual bool spoil(std::size_t row, spec& s, fields::generator& random) const = 0;
    /// Every entry of this row on p ranks; data and roots are drawn.
    virtual std::vector<spec> all(std::size_t row, int p, fields::generator& random) const = 0;
    /// @return null if there is no such row
    virtual std::unique_ptr<job<Comm>> prepare(const spec& s) = 0;
};

/// One function per file, for each element type.
template <class T, class Comm>
suite<Comm>& suite_of();

}  // namespace matrix

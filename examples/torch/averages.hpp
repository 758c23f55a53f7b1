// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// averages.hpp - the averages of a communication hook, with and without error feedback. Knows nothing of
// torch.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "calls.hpp"

namespace ccoll_torch {

/// The averages of one communication hook: they begin in the order in which they are given, each when the
/// bound of Bits is known. All functions run on the progress thread.
class averages_in_turn : public std::enable_shared_from_this<averages_in_turn> {
public:
    /// Average with error feedback (ccoll/error_feedback.hpp): what one step cuts off is added to the next.
    class memory {
    public:
        virtual ~memory() = default;
        virtual double largest(const void* gradient) const = 0;
        virtual test_function begin(void* gradient, double bound, const communicator&) = 0;
        static std::unique_ptr<memory> make(number type, std::size_t n);
    };
    /// Communicators that nothing else uses.
    struct two {
        communicator sums, maxima;
    };
    /// @param of  null: without feedback
    test_function begin(vector_of gradient, const precision&, std::shared_ptr<memory> of, const two&);
    /// For a rank that cannot make its average: takes its turn only to tell the others, which are given an
    /// error and do not wait.
    test_function refuse(const precision&, bool with_feedback, const two&);

private:
    class turn;

    test_function in_turn(std::optional<double> largest, const two&,
                          std::function<test_function(double)> begin);

    std::size_t given_ = 0, begun_ = 0;
    std::set<std::size_t> passed_;  ///< turns that nobody will take
};

}  // namespace ccoll_torch

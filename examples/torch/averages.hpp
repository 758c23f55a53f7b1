// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// averages.hpp - the averages of a communication hook, with and without error feedback. Knows nothing of
// torch.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>

#include <ccoll/base/half.hpp>

#include "calls.hpp"

namespace ccoll_torch {

/// @param f  called with an element of the type
template <class Function>
auto with_float(number type, Function f)
{
    switch (type) {
    case number::f32: return f(float());
    case number::f64: return f(double());
    case number::f16: return f(ccoll::half());
    default: return f(ccoll::bfloat16());
    }
}

/// The averages of one communication hook: they begin in the order in which they are given, each when the
/// bound of Bits is known. All functions run on the progress thread.
class averages_in_turn {
public:
    /// Average with error feedback: what one step cuts off is added to the next. In the place of the
    /// gradients: ccoll/error_feedback.hpp, or error_feedback.cuh.
    class memory {
    public:
        virtual ~memory() = default;
        virtual test_function begin(const vector_of& gradient, double bound, const communicator&) = 0;
        /// The last average failed on this rank, and succeeded on others. While none is under way.
        virtual void assume_success() = 0;
        /// For gradients like this one. On the thread of the caller.
        static std::unique_ptr<memory> make(const vector_of&);
    };
    /// Communicators that nothing else uses.
    struct two {
        communicator sums, maxima;
    };
    /// The largest magnitude of a vector, among those that are finite, once it is known.
    using magnitude = std::function<std::optional<double>()>;

    /// @param of       null: without feedback
    /// @param largest  of a gradient on a GPU, where Bits and feedback ask for it
    test_function begin(vector_of gradient, const precision&, std::shared_ptr<memory> of, magnitude largest,
                        const two&);
    /// For a rank that cannot make its average: takes its turn only to tell the others, which are given an
    /// error and do not wait.
    test_function refuse(const precision&, bool with_feedback, const two&);
    /// Do such averages need the largest magnitude of all ranks first?
    static bool ask(const precision&, bool with_feedback);

private:
    /// Turns that were given and begun.
    struct order {
        std::size_t given = 0, begun = 0;
        std::set<std::size_t> passed;  ///< turns that nobody will take
    };
    class turn;

    test_function in_turn(magnitude largest, const two&, std::function<test_function(double)> begin);

    std::shared_ptr<order> sums_ = std::make_shared<order>(), maxima_ = std::make_shared<order>();
};

}  // namespace ccoll_torch

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// averages.cpp - see averages.hpp.
#include "averages.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <ccoll/error_feedback.hpp>
#if defined(CCOLL_TORCH_MPI)
#include <ccoll/transport/mpi.hpp>
#endif

#include "gpu.hpp"
#include "test_of.hpp"

namespace ccoll_torch {

namespace {

/// Without the sign, the bits of floats are in the order of the numbers, and those of infinities and NaN come
/// last. Compilers can do this for several values at a time.
template <class T>
double largest_of(std::span<const T> gradient)
{
    using word = std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                    std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;
    constexpr int exponent = sizeof(T) == 8                                         ? 11
                             : sizeof(T) == 4 || std::is_same_v<T, ccoll::bfloat16> ? 8
                                                                                    : 5;
    constexpr auto magnitude = static_cast<word>(std::numeric_limits<word>::max() >> 1);
    constexpr auto infinity =
        static_cast<word>(magnitude >> (8 * sizeof(T) - 1 - exponent) << (8 * sizeof(T) - 1 - exponent));
    word largest = 0;
    for (const T value : gradient) {
        const auto size = static_cast<word>(std::bit_cast<word>(value) & magnitude);
        const word each = size < infinity ? size : word{0};
        largest = largest < each ? each : largest;
    }
    return static_cast<double>(ccoll::detail::to_number(std::bit_cast<T>(largest)));
}
double largest_of(const vector_of& gradient)
{
    return with_float(gradient.type, [&]<class T>(T) {
        return largest_of(std::span<const T>(static_cast<const T*>(gradient.data), gradient.n));
    });
}

template <class T>
class memory_on_host final : public averages_in_turn::memory {
public:
    explicit memory_on_host(std::size_t n) : feedback_(n) {}

    test_function begin(const vector_of& gradient, double bound, const communicator& comm) override
    {
        return test_of(
            feedback_.iaverage(std::span<T>(static_cast<T*>(gradient.data), gradient.n), bound, comm));
    }

    void assume_success() override { feedback_.assume_success(); }

private:
    ccoll::error_feedback<T> feedback_;
};

// In place of a largest magnitude, which is finite.
constexpr double refused = std::numeric_limits<double>::infinity();

}  // namespace

std::unique_ptr<averages_in_turn::memory> averages_in_turn::memory::make(const vector_of& like)
{
    if (like.where.gpu >= 0) return gpu::make_memory(like);
    return with_float(like.type, [&]<class T>(T) -> std::unique_ptr<memory> {
        return std::make_unique<memory_on_host<T>>(like.n);
    });
}

bool averages_in_turn::ask(const precision& wanted, bool with_feedback)
{
    return with_feedback && wanted && std::holds_alternative<bits>(*wanted);
}

/// A place in an order. If it goes before its turn has come, because the call was given up, it is passed
/// over.
class averages_in_turn::turn {
public:
    explicit turn(std::shared_ptr<order> of) : of_(std::move(of)), mine_(of_->given++) {}
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    ~turn()
    {
        if (!taken_) of_->passed.insert(mine_);
    }
    /// @return true if it has come, once
    bool take()
    {
        while (of_->passed.erase(of_->begun) > 0) ++of_->begun;
        if (of_->begun != mine_) return false;
        ++of_->begun;
        return taken_ = true;
    }

private:
    std::shared_ptr<order> of_;
    std::size_t mine_;
    bool taken_ = false;
};

/// A magnitude, and the maximum of one average, may be known late on one rank and early on another, and all
/// must begin their maxima and their averages in the same order. So maxima have a communicator of their own,
/// and a maximum, or an average, waits until those before it have begun.
test_function averages_in_turn::in_turn(magnitude largest, const two& comms,
                                        std::function<test_function(double)> begin)
{
    struct steps {
        turn of_sum;
        std::optional<turn> of_maximum{};
        communicator maxima;
        magnitude largest;
        std::optional<double> known{};
        std::function<test_function(double)> begin;
        test_function maximum{}, average{};

        void begin_maximum()
        {
            if (!known) known = largest();
            if (known && of_maximum->take())
                maximum = begin_allreduce({&*known, 1, number::f64}, operation::max, {}, maxima);
        }
        /// @return true when the largest magnitude of all ranks is known, or not needed
        bool knows_largest()
        {
            if (!of_maximum) return true;
            if (!maximum) begin_maximum();
            ccoll::report of_the_maximum;
            if (!maximum || !maximum(of_the_maximum)) return false;
            maximum = nullptr;
            of_maximum.reset();
            return true;
        }
        bool go_on(ccoll::report& facts)
        {
            if (!average) {
                if (!knows_largest() || !of_sum.take()) return false;
                average = begin(known.value_or(0));
            }
            return average(facts);
        }
    };
    const std::shared_ptr<steps> all(new steps{.of_sum = turn(sums_),
                                               .maxima = comms.maxima,
                                               .largest = std::move(largest),
                                               .begin = std::move(begin)});
    if (all->largest) {
        all->of_maximum.emplace(maxima_);
        all->begin_maximum();
    }
    return [all](ccoll::report& facts) { return all->go_on(facts); };
}

test_function averages_in_turn::begin(vector_of gradient, const precision& wanted, std::shared_ptr<memory> of,
                                      magnitude largest, const two& comms)
{
    if (of == nullptr || !wanted)
        return in_turn(nullptr, comms, [=, sums = comms.sums](double) {
            return begin_allreduce(gradient, operation::average, wanted, sums);
        });
    if (const double* bound = std::get_if<double>(&*wanted))
        return in_turn(nullptr, comms, [=, sums = comms.sums, bound = *bound](double) {
            return of->begin(gradient, bound, sums);
        });
    if (!largest) largest = [gradient] { return std::optional(largest_of(gradient)); };
    return in_turn(std::move(largest), comms,
                   [=, sums = comms.sums, count = std::get<bits>(*wanted).count](double of_all) {
                       if (of_all == refused)
                           throw std::runtime_error(
                               "ccoll: another rank could not take part in this average, and says why");
                       // What FixedBits takes. Zeros are exact with any bound.
                       const double bound = of_all > 0 ? std::max(std::ldexp(of_all, -count), 1e-300) : 1e-30;
                       return of->begin(gradient, bound, sums);
                   });
}

test_function averages_in_turn::refuse(const precision& wanted, bool with_feedback, const two& comms)
{
    if (ask(wanted, with_feedback))
        return in_turn([] { return std::optional(refused); }, comms,
                       [](double) -> test_function { return [](ccoll::report&) { return true; }; });
    return in_turn(nullptr, comms, [sums = comms.sums](double) { return begin_refusal(sums); });
}

}  // namespace ccoll_torch

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

#include "test_of.hpp"

namespace ccoll_torch {

namespace {

template <class T>
class memory_of final : public averages_in_turn::memory {
public:
    explicit memory_of(std::size_t n) : n_(n), feedback_(n) {}

    /// Without the sign, the bits of floats are in the order of the numbers, and those of infinities and NaN
    /// come last. Compilers can do this for several values at a time.
    double largest(const void* gradient) const override
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
        for (const T value : std::span<const T>(static_cast<const T*>(gradient), n_)) {
            const auto size = static_cast<word>(std::bit_cast<word>(value) & magnitude);
            const word each = size < infinity ? size : word{0};
            largest = largest < each ? each : largest;
        }
        return static_cast<double>(ccoll::detail::to_number(std::bit_cast<T>(largest)));
    }
    test_function begin(void* gradient, double bound, const communicator& comm) override
    {
        return test_of(feedback_.iaverage(std::span<T>(static_cast<T*>(gradient), n_), bound, comm));
    }

private:
    std::size_t n_;
    ccoll::error_feedback<T> feedback_;
};

/// Needs the largest magnitude of all ranks first?
bool asks(const precision& wanted, bool with_feedback)
{
    return with_feedback && wanted && std::holds_alternative<bits>(*wanted);
}

// In place of a largest magnitude, which is finite.
constexpr double refused = std::numeric_limits<double>::infinity();

}  // namespace

std::unique_ptr<averages_in_turn::memory> averages_in_turn::memory::make(number type, std::size_t n)
{
    switch (type) {
    case number::f32: return std::make_unique<memory_of<float>>(n);
    case number::f64: return std::make_unique<memory_of<double>>(n);
    case number::f16: return std::make_unique<memory_of<ccoll::half>>(n);
    default: return std::make_unique<memory_of<ccoll::bfloat16>>(n);
    }
}

/// A place in the order. If it goes before its turn has come, because the call was given up, it is passed
/// over.
class averages_in_turn::turn {
public:
    explicit turn(std::shared_ptr<averages_in_turn> order) : order_(std::move(order)), mine_(order_->given_++)
    {}
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    ~turn()
    {
        if (!taken_) order_->passed_.insert(mine_);
    }
    /// @return true if it has come, once
    bool take()
    {
        while (order_->passed_.erase(order_->begun_) > 0) ++order_->begun_;
        if (order_->begun_ != mine_) return false;
        ++order_->begun_;
        return taken_ = true;
    }

private:
    std::shared_ptr<averages_in_turn> order_;
    std::size_t mine_;
    bool taken_ = false;
};

/// The maximum of one average may be known late on one rank and early on another, and all must begin their
/// averages in the same order. So maxima have a communicator of their own, and an average waits until those
/// before it have begun.
test_function averages_in_turn::in_turn(std::optional<double> largest, const two& comms,
                                        std::function<test_function(double)> begin)
{
    struct steps {
        turn mine;
        double known;
        std::function<test_function(double)> begin;
        test_function maximum, average;
    };
    const std::shared_ptr<steps> all(
        new steps{turn(shared_from_this()), largest.value_or(0), std::move(begin), {}, {}});
    if (largest)
        all->maximum = begin_allreduce({&all->known, 1, number::f64}, operation::max, {}, comms.maxima);
    return [all](ccoll::report& facts) {
        if (all->maximum) {
            ccoll::report of_the_maximum;
            if (!all->maximum(of_the_maximum)) return false;
            all->maximum = nullptr;
        }
        if (!all->average) {
            if (!all->mine.take()) return false;
            all->average = all->begin(all->known);
        }
        return all->average(facts);
    };
}

test_function averages_in_turn::begin(vector_of gradient, const precision& wanted, std::shared_ptr<memory> of,
                                      const two& comms)
{
    if (of == nullptr || !wanted)
        return in_turn(std::nullopt, comms, [=, sums = comms.sums](double) {
            return begin_allreduce(gradient, operation::average, wanted, sums);
        });
    if (const double* bound = std::get_if<double>(&*wanted))
        return in_turn(std::nullopt, comms, [=, sums = comms.sums, bound = *bound](double) {
            return of->begin(gradient.data, bound, sums);
        });
    return in_turn(of->largest(gradient.data), comms,
                   [=, sums = comms.sums, count = std::get<bits>(*wanted).count](double largest) {
                       if (largest == refused)
                           throw std::runtime_error(
                               "ccoll: another rank could not take part in this average, and says why");
                       // What FixedBits takes. Zeros are exact with any bound.
                       const double bound =
                           largest > 0 ? std::max(std::ldexp(largest, -count), 1e-300) : 1e-30;
                       return of->begin(gradient.data, bound, sums);
                   });
}

test_function averages_in_turn::refuse(const precision& wanted, bool with_feedback, const two& comms)
{
    if (asks(wanted, with_feedback))
        return in_turn(refused, comms,
                       [](double) -> test_function { return [](ccoll::report&) { return true; }; });
    return in_turn(std::nullopt, comms, [sums = comms.sums](double) { return begin_refusal(sums); });
}

}  // namespace ccoll_torch

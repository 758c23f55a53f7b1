// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tune/costs.hpp - floor 2. What the candidates of a class of calls take, for each kind of values that the
// calls have had.
//
// Calls of one class may have values of different kinds in turn: smooth fields and noise, or the layers of a
// net. A codec is fast for some and slow for others. What one call has taken then says nothing about the next
// one. So timings are kept apart by kind, and candidates are compared by what they take for the kinds of the
// latest calls together.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <ccoll/base/config.hpp>

namespace ccoll::inline CCOLL_ABI::tune {

inline constexpr double unknown = std::numeric_limits<double>::infinity();

/// Kinds of values, by the part of their bits that the sample's codec needs for them.
inline constexpr std::size_t kinds = 6;
inline constexpr std::array<double, kinds> most_of_kind{1.0 / 16, 1.0 / 8, 1.0 / 4, 1.0 / 2, 3.0 / 4, 1.0};
/// @param part  bits in a frame, of those of the values. 0, where there is no sample, is a kind like others
constexpr std::size_t kind_of(double part) noexcept
{
    std::size_t k = 0;
    while (k + 1 < kinds && part > most_of_kind[k]) ++k;
    return k;
}

/// The latest timings of one candidate.
class timings {
public:
    void add(double seconds) noexcept
    {
        all_[next_] = static_cast<float>(seconds);
        next_ = (next_ + 1) % all_.size();
        size_ = std::min(size_ + 1, all_.size());
    }
    bool empty() const noexcept { return size_ == 0; }
    /// The lower quartile, which of up to four is the least. Other programs and other ranks make a call
    /// longer, and never shorter.
    double seconds() const noexcept
    {
        if (size_ == 0) return unknown;
        auto sorted = all_;
        const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(size_);
        const auto quartile = sorted.begin() + static_cast<std::ptrdiff_t>((size_ - 1) / 4);
        std::nth_element(sorted.begin(), quartile, end);
        return static_cast<double>(*quartile);
    }
    /// The least of the last four.
    double lately() const noexcept
    {
        double least = unknown;
        for (std::size_t i = 1; i <= std::min<std::size_t>(size_, 4); ++i)
            least = std::min(least, static_cast<double>(all_[(next_ + all_.size() - i) % all_.size()]));
        return least;
    }

private:
    std::array<float, 24> all_{};
    std::size_t size_ = 0;
    std::size_t next_ = 0;
};

/// The kinds of the latest calls that ranks have looked at.
class kind_mix {
public:
    /// Two kinds in turn, or three, are in about the right proportion in eight calls.
    static constexpr std::size_t size = 8;

    /// @param part  @see kind_of
    void add(double part) noexcept
    {
        parts_[next_] = part;
        next_ = (next_ + 1) % size;
        known_ = std::min(known_ + 1, size);
    }
    void clear() noexcept { known_ = next_ = 0; }
    double mean_part() const noexcept
    {
        double sum = 0;
        for (std::size_t i = 0; i < known_; ++i) sum += parts_[i];
        return known_ > 0 ? sum / static_cast<double>(known_) : 0;
    }
    /// The mean of f(kind) over the latest calls; f(0) if there are none.
    template <class F>
    double mean(F f) const
    {
        if (known_ == 0) return f(std::size_t{0});
        double sum = 0;
        for (std::size_t i = 0; i < known_; ++i) sum += f(kind_of(parts_[i]));
        return sum / static_cast<double>(known_);
    }

private:
    std::array<double, size> parts_{};
    std::size_t next_ = 0;
    std::size_t known_ = 0;
};

/// Timings by candidate and kind. Candidates that do not compress take the same for all kinds.
template <std::size_t Candidates>
class cost_table {
public:
    void set(std::size_t candidate, bool compresses, double sent) noexcept
    {
        of_[candidate].compresses = compresses;
        of_[candidate].sent = sent;
    }
    void note(std::size_t candidate, std::size_t kind, double seconds) noexcept
    {
        cell(candidate, kind).add(seconds);
    }
    void forget() noexcept
    {
        for (row& each : of_) each.timed = {};
    }
    bool was_tried(std::size_t candidate) const noexcept
    {
        return std::any_of(of_[candidate].timed.begin(), of_[candidate].timed.end(),
                           [](const timings& t) { return !t.empty(); });
    }
    const timings& timed(std::size_t candidate, std::size_t kind) const noexcept
    {
        return of_[candidate].timed[column(candidate, kind)];
    }

    /// Seconds of a call. For a kind that the candidate has not had, they are estimated: the first
    /// candidate's time is that of a link, which carries more or less.
    double of(std::size_t candidate, std::size_t kind) const noexcept
    {
        const row& r = of_[candidate];
        const std::size_t k = column(candidate, kind), known = nearest_known(r, k);
        if (known == kinds) return unknown;
        const double seconds = r.timed[known].seconds();
        if (known == k) return seconds;
        const double link = candidate == 0 ? seconds : timed(0, kind).seconds();
        const double more =
            link == unknown ? 0 : link * r.sent / of_[0].sent * (most_of_kind[k] - most_of_kind[known]);
        return std::max(seconds + more, seconds / 4);
    }
    double of(std::size_t candidate, const kind_mix& mix) const
    {
        return mix.mean([&](std::size_t kind) { return of(candidate, kind); });
    }

private:
    struct row {
        std::array<timings, kinds> timed{};
        double sent = 0;  ///< multiples of the whole vector
        bool compresses = false;
    };
    /// @return kinds if none was timed
    static std::size_t nearest_known(const row& r, std::size_t kind) noexcept
    {
        for (std::size_t apart = 0; apart < kinds; ++apart) {
            if (kind >= apart && !r.timed[kind - apart].empty()) return kind - apart;
            if (kind + apart < kinds && !r.timed[kind + apart].empty()) return kind + apart;
        }
        return kinds;
    }
    std::size_t column(std::size_t candidate, std::size_t kind) const noexcept
    {
        return of_[candidate].compresses ? kind : 0;
    }
    timings& cell(std::size_t candidate, std::size_t kind) noexcept
    {
        return of_[candidate].timed[column(candidate, kind)];
    }

    std::array<row, Candidates> of_{};
};

}  // namespace ccoll::inline CCOLL_ABI::tune

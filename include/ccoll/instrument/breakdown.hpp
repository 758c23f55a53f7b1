// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// instrument/breakdown.hpp - floor 1. Measures the seconds per phase of a call, as in C-Coll's figures. Costs
// nothing when it is off.
#pragma once

#include <ccoll/base/clock.hpp>
#include <ccoll/base/config.hpp>

namespace ccoll::inline CCOLL_ABI {

/// Seconds that this rank spent in each phase of a call. Their sum is the time of the call, less the little
/// that belongs to no phase.
struct breakdown {
    double encode = 0;  ///< encoding own elements; with Placement::Homomorphic also adding encoded streams
    double decode = 0;  ///< decoding
    /// Decoding, combining and encoding again; one figure, because a chunk goes through all three while in
    /// cache.
    double reduce = 0;
    double communicate = 0;  ///< starting and testing messages, also between the chunks of a codec
    double wait = 0;         ///< waiting for a message with nothing else to do
    double copy = 0;         ///< copying elements that need no codec

    breakdown& operator+=(const breakdown& b) noexcept
    {
        encode += b.encode;
        decode += b.decode;
        reduce += b.reduce;
        communicate += b.communicate;
        wait += b.wait;
        copy += b.copy;
        return *this;
    }
};

enum class phase { encode, decode, reduce, communicate, wait, copy };

/// Instrument::Off: compiles to nothing.
struct no_clock {
    static constexpr bool on = false;
    struct scope {
        constexpr scope(no_clock&, phase) noexcept {}
    };
    constexpr breakdown seconds() const noexcept { return {}; }
};

/// Instrument::Breakdown. Scopes nest: the clock of the outer scope stands still while an inner one is open.
class phase_clock {
public:
    static constexpr bool on = true;

    class scope {
    public:
        scope(phase_clock& clock, phase what) noexcept
            : clock_(clock), outer_(clock.enter(&slot(clock.seconds_, what)))
        {}
        ~scope() { clock_.enter(outer_); }
        scope(const scope&) = delete;
        scope& operator=(const scope&) = delete;

    private:
        phase_clock& clock_;
        double* outer_;
    };
    breakdown seconds() const noexcept { return seconds_; }

private:
    static double& slot(breakdown& b, phase what) noexcept
    {
        switch (what) {
        case phase::encode: return b.encode;
        case phase::decode: return b.decode;
        case phase::reduce: return b.reduce;
        case phase::communicate: return b.communicate;
        case phase::wait: return b.wait;
        case phase::copy: break;
        }
        return b.copy;
    }
    double* enter(double* next) noexcept
    {
        const double now = steady_seconds();
        if (running_ != nullptr) *running_ += now - since_;
        since_ = now;
        double* before = running_;
        running_ = next;
        return before;
    }

    breakdown seconds_;
    double since_ = 0;
    double* running_ = nullptr;
};

}  // namespace ccoll::inline CCOLL_ABI

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// base/exact.hpp - floor 0. The bit fields of floating-point numbers, and the floating-point environment in
// which the library computes.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <ccoll/base/config.hpp>

namespace ccoll::inline CCOLL_ABI {

/// x, as it is: in an exact region `rounded(a * b) + c` is rounded twice, whatever the flags are. @see
/// CCOLL_ROUNDED
template <class T>
    requires std::is_floating_point_v<T>
constexpr T rounded(T x) noexcept
{
    CCOLL_ROUNDED(x);
    return x;
}

}  // namespace ccoll

namespace ccoll::inline CCOLL_ABI::detail {

enum class denormals { keep, flush };

#if defined(__x86_64__) || defined(__i386__)
/// The same for the unit that computes long double: 64 bits of mantissa, to nearest, no traps.
class x87_environment {
public:
    x87_environment() noexcept
    {
        __asm__ volatile("fnstcw %0" : "=m"(saved_));
        if (differs()) __asm__ volatile("fldcw %0" : : "m"(wanted));
    }
    ~x87_environment()
    {
        if (!differs()) return;
        if ((saved_ & all_traps) != all_traps)
            __asm__ volatile("fnclex");  // a flag that has been raised here would trap out there
        __asm__ volatile("fldcw %0" : : "m"(saved_));
    }
    x87_environment(const x87_environment&) = delete;
    x87_environment& operator=(const x87_environment&) = delete;

private:
    static constexpr std::uint16_t wanted = 0x37f, all_traps = 0x3f, meaning = 0xf3f;
    bool differs() const noexcept { return (saved_ & meaning) != (wanted & meaning); }

    std::uint16_t saved_;
};
#else
struct x87_environment {};
#endif

/// While an object of this class lives, its thread rounds to nearest, traps no floating-point exception, and
/// either keeps denormals or takes them as 0, whatever the program has set. Taking them as 0 is faster on
/// processors where denormal operands are slow. The reason for this class is that programs do change these
/// settings, and seldom on all ranks: g++ -Ofast turns denormals off in the whole process, even from a
/// library that is loaded later. The same values would then give other bits and bytes and a weaker bound.
/// Exception flags that are raised in the meantime stay raised; exact_call puts them back.
///
/// Every call enters exact_call where the user's thread enters the library (call.hpp, p2p_forms.hpp,
/// pending.hpp, codec.hpp), and so does every part of the work that a thread of an executor or of CUDA does
/// (batch_queue.hpp, placed.hpp, cuda/lane.cuh). Operations and codecs of users therefore run in it as well.
/// Cost: a few cycles if the program has changed nothing.
template <denormals What = denormals::keep>
class exact_environment {
public:
    exact_environment(const exact_environment&) = delete;
    exact_environment& operator=(const exact_environment&) = delete;
#if defined(__SSE2__)
    exact_environment() noexcept : saved_(__builtin_ia32_stmxcsr())
    {
        if (differs()) __builtin_ia32_ldmxcsr(wanted);
    }
    ~exact_environment()
    {
        if (differs()) __builtin_ia32_ldmxcsr(saved_);
    }

private:
    friend class exact_call;
    static constexpr unsigned wanted = What == denormals::flush ? 0x9fc0u : 0x1f80u, raised = 0x3f;
    /// Loading the register makes the processor wait for all earlier instructions, so it is loaded only if it
    /// must change.
    bool differs() const noexcept { return (saved_ & ~raised) != wanted; }

    unsigned saved_;
    [[no_unique_address]] x87_environment long_doubles_;
#elif defined(__aarch64__)
    exact_environment() noexcept
    {
        __asm__ volatile("mrs %0, fpcr" : "=r"(saved_) : : "memory");
        if (saved_ != wanted) set(wanted);
    }
    ~exact_environment()
    {
        if (saved_ != wanted) set(saved_);
    }

private:
    static constexpr std::uint64_t wanted = What == denormals::flush ? std::uint64_t{1} << 24 : 0;
    static void set(std::uint64_t value) noexcept
    {
        __asm__ volatile("msr fpcr, %0" : : "r"(value) : "memory");
    }

    std::uint64_t saved_;
#else
    exact_environment() noexcept {}
    ~exact_environment() {}  // not trivial, so that no compiler warns about an unused variable
#endif
};

/// exact_environment, and its end leaves the exception flags of the thread as they were at its beginning: a
/// program that looks at them finds its own. Cost: if one was raised, which is usual, a load of the register,
/// some 10 ns. So a call has one, and not each chunk. The flags of x87, in which x86 computes long double,
/// are left alone.
class exact_call {
public:
    exact_call() noexcept = default;
    exact_call(const exact_call&) = delete;
    exact_call& operator=(const exact_call&) = delete;
#if defined(__SSE2__)
    ~exact_call()
    {
        const unsigned now = __builtin_ia32_stmxcsr(), others = now & ~environment_.raised;
        if (const unsigned flags = environment_.saved_ & environment_.raised;
            (now & environment_.raised) != flags)
            __builtin_ia32_ldmxcsr(others | flags);
    }
#elif defined(__aarch64__)
    ~exact_call()
    {
        std::uint64_t now;
        __asm__ volatile("mrs %0, fpsr" : "=r"(now) : : "memory");
        if (now != flags_.saved) __asm__ volatile("msr fpsr, %0" : : "r"(flags_.saved) : "memory");
    }

private:
    struct flags {
        std::uint64_t saved;
        flags() noexcept { __asm__ volatile("mrs %0, fpsr" : "=r"(saved) : : "memory"); }
    };
    flags flags_;
#else
    ~exact_call() {}
#endif

private:
    exact_environment<> environment_;  // ends last
};

/// The bit fields of T, as integers.
template <class T>
    requires std::is_floating_point_v<T>
struct fields_of {
    using word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    using signed_word = std::make_signed_t<word>;  // SSE2 compares only signed integers
    static constexpr int word_bits = 8 * sizeof(T);
    static constexpr int mantissa_bits = std::numeric_limits<T>::digits - 1;
    static constexpr int exponent_bits = word_bits - 1 - mantissa_bits;
    static constexpr word sign = word{1} << (word_bits - 1);
    static constexpr word exponent_one = word{1} << mantissa_bits;
    static constexpr word exponent = sign - exponent_one;

    static constexpr word of(T value) noexcept { return std::bit_cast<word>(value); }
    static constexpr word magnitude(T value) noexcept { return of(value) & ~sign; }
    static constexpr signed_word signed_magnitude(T value) noexcept
    {
        return static_cast<signed_word>(magnitude(value));
    }
};

}  // namespace ccoll::detail

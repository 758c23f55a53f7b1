// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// base/isa.hpp - floor 0. Which instruction set the codecs use, chosen while the program runs: a user who compiles without
// -march=native gets the fast path, and every path gives the same bytes.
#pragma once

#include <atomic>
#include <cstdlib>
#include <cstring>

#include <ccoll/base/config.hpp>

namespace ccoll::inline CCOLL_ABI {

/// In rising order: a machine that has one has all before it.
/// avx2: AVX2, BMI, LZCNT (Haswell, Zen).  avx512: F, BW, DQ, VL (Skylake-X).  avx512_gfni: with GFNI, VBMI, VBMI2 and VNNI (Ice Lake, Zen 4).
enum class isa : int { portable, avx2, avx512, avx512_gfni };
inline constexpr isa every_isa[] = {isa::portable, isa::avx2, isa::avx512, isa::avx512_gfni};

/// As CCOLL_ISA spells it.
constexpr const char* name_of(isa i) noexcept
{
    switch (i) {
    case isa::portable: return "portable";
    case isa::avx2: return "avx2";
    case isa::avx512: return "avx512";
    case isa::avx512_gfni: return "avx512_gfni";
    }
    return "unknown";
}

/// The highest one that this machine and its operating system run.
inline isa highest_isa() noexcept
{
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    // No processor has BMI2 without LZCNT, and clang 14 does not know the name of that one.
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2")) return isa::portable;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vl"))
        return isa::avx2;
    if (!__builtin_cpu_supports("avx512vbmi") || !__builtin_cpu_supports("avx512vbmi2") || !__builtin_cpu_supports("avx512vnni") || !__builtin_cpu_supports("gfni")) return isa::avx512;
    return isa::avx512_gfni;
#else
    return isa::portable;
#endif
}

namespace detail {

inline isa lower_of(isa a, isa b) noexcept { return a < b ? a : b; }

/// The environment variable CCOLL_ISA lowers the choice; what the machine lacks, and names that mean nothing, change nothing.
inline isa isa_of_environment() noexcept
{
    const isa highest = highest_isa();
    const char* wish = std::getenv("CCOLL_ISA");
    if (wish != nullptr)
        for (isa i : every_isa)
            if (std::strcmp(wish, name_of(i)) == 0) return lower_of(i, highest);
    return highest;
}

inline std::atomic<isa>& chosen_isa() noexcept
{
    static std::atomic<isa> one{isa_of_environment()};
    return one;
}

}  // namespace detail

/// What codecs use from here on, in all threads.
inline isa isa_in_use() noexcept { return detail::chosen_isa().load(std::memory_order_relaxed); }

/// Lowers or restores the choice, for tests, benchmarks and bug reports. @return what is in use now: never more than the machine has.
inline isa use_isa(isa wish) noexcept
{
    const isa now = detail::lower_of(wish, highest_isa());
    detail::chosen_isa().store(now, std::memory_order_relaxed);
    return now;
}

}  // namespace ccoll

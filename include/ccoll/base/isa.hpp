// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// base/isa.hpp - floor 0. Which instruction set the codecs use, chosen while the program runs: a user who
// compiles without -march=native gets the fast path, and every set gives the same bytes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include <ccoll/base/config.hpp>

namespace ccoll::inline CCOLL_ABI {

/// The sets of x86 stand in rising order: a machine that has one has all before it. neon is aarch64's.
///
/// - avx2: AVX2, FMA, F16C, BMI, LZCNT (Haswell, Zen)
/// - avx512: F, BW, DQ, VL (Skylake-X)
/// - avx512_gfni: with GFNI, VBMI, VBMI2 and VNNI (Ice Lake, Zen 4)
enum class isa : int { portable, avx2, avx512, avx512_gfni, neon };
inline constexpr isa every_isa[] = {isa::portable, isa::avx2, isa::avx512, isa::avx512_gfni, isa::neon};

/// As CCOLL_ISA spells it.
constexpr const char* name_of(isa i) noexcept
{
    switch (i) {
    case isa::portable: return "portable";
    case isa::avx2: return "avx2";
    case isa::avx512: return "avx512";
    case isa::avx512_gfni: return "avx512_gfni";
    case isa::neon: return "neon";
    }
    return "unknown";
}

/// The least set that has kernels in this program. The program cannot run on a machine without the
/// instructions that the compiler's flags ask for, such as -march=native, so kernels for such machines are
/// not compiled. Without flags, this is the portable set.
/// CCOLL_OR_<SET> is the namespace of that set, or of the least one if that is higher; CCOLL_PORTABLE_OR_AVX2
/// is never above AVX2.
#if !defined(CCOLL_X86_KERNELS) || !defined(__AVX2__) || !defined(__FMA__) || !defined(__BMI2__) || \
    !defined(__LZCNT__)
inline constexpr isa least_isa = isa::portable;
#define CCOLL_OR_PORTABLE portable
#define CCOLL_PORTABLE_OR_AVX2 portable
#define CCOLL_OR_AVX2 avx2
#define CCOLL_OR_AVX512 avx512
#elif !defined(__AVX512F__) || !defined(__AVX512BW__) || !defined(__AVX512DQ__) || !defined(__AVX512VL__)
inline constexpr isa least_isa = isa::avx2;
#define CCOLL_OR_PORTABLE avx2
#define CCOLL_PORTABLE_OR_AVX2 avx2
#define CCOLL_OR_AVX2 avx2
#define CCOLL_OR_AVX512 avx512
#elif !defined(__AVX512VBMI__) || !defined(__AVX512VBMI2__) || !defined(__AVX512VNNI__) || !defined(__GFNI__)
inline constexpr isa least_isa = isa::avx512;
#define CCOLL_OR_PORTABLE avx512
#define CCOLL_PORTABLE_OR_AVX2 avx2
#define CCOLL_OR_AVX2 avx512
#define CCOLL_OR_AVX512 avx512
#else
inline constexpr isa least_isa = isa::avx512_gfni;
#define CCOLL_OR_PORTABLE avx512_gfni
#define CCOLL_PORTABLE_OR_AVX2 avx2
#define CCOLL_OR_AVX2 avx512_gfni
#define CCOLL_OR_AVX512 avx512_gfni
#endif

/// The fastest one that this machine and its operating system run.
inline isa highest_isa() noexcept
{
#if defined(CCOLL_X86_KERNELS)
    __builtin_cpu_init();
    // No processor has BMI2 without LZCNT and F16C, and clang 14 does not know the names of those two.
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi2"))
        return isa::portable;
#if defined(CCOLL_NO_AVX512)
    return isa::avx2;
#else
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
        return isa::avx2;
    if (!__builtin_cpu_supports("avx512vbmi") || !__builtin_cpu_supports("avx512vbmi2") ||
        !__builtin_cpu_supports("avx512vnni") || !__builtin_cpu_supports("gfni"))
        return isa::avx512;
    return isa::avx512_gfni;
#endif
#elif defined(CCOLL_NEON_KERNELS)
    return isa::neon;
#else
    return isa::portable;
#endif
}

/// Does this machine run it, and was this program compiled with kernels for it?
inline bool machine_has(isa i) noexcept
{
    const isa highest = highest_isa();
    if (i == least_isa || i == highest) return true;
    return highest != isa::neon && i != isa::neon && least_isa < i && i < highest;
}

namespace detail {

/// The environment variable CCOLL_ISA names the choice; what the machine lacks, and names that mean nothing,
/// change nothing.
inline isa isa_of_environment() noexcept
{
    const char* wish = std::getenv("CCOLL_ISA");
    if (wish != nullptr)
        for (isa i : every_isa)
            if (std::strcmp(wish, name_of(i)) == 0 && machine_has(i)) return i;
    return highest_isa();
}

inline std::atomic<isa>& chosen_isa() noexcept
{
    static std::atomic<isa> one{isa_of_environment()};
    return one;
}

}  // namespace detail

/// What codecs use from here on, in all threads.
inline isa isa_in_use() noexcept { return detail::chosen_isa().load(std::memory_order_relaxed); }

/// Changes the choice, for tests, benchmarks and bug reports. What the machine lacks is refused: the choice
/// stays as it was.
/// @return what is in use now
inline isa use_isa(isa wish) noexcept
{
    if (machine_has(wish)) detail::chosen_isa().store(wish, std::memory_order_relaxed);
    return isa_in_use();
}

namespace detail {

/// One kernel per instruction set, and the choice among them. Every codec has a table for each of its loops,
/// and calls it as a kernel, `table(arguments)`, once per chunk or block; no other code asks which set is in
/// use.
template <class Kernel>
struct by_isa {
    Kernel of[std::size(every_isa)];

    constexpr Kernel operator[](isa i) const noexcept { return of[static_cast<std::size_t>(i)]; }
    Kernel in_use() const noexcept { return (*this)[isa_in_use()]; }
    operator Kernel() const noexcept { return in_use(); }
};
template <class Kernel, class... Others>
by_isa(Kernel, Others...) -> by_isa<Kernel>;

}  // namespace detail

/// The kernel `name` of each set, in the order of `every_isa`, as in
/// by_isa{CCOLL_EACH_ISA(encode_blocks<T>)}. A codec has one namespace per set, with the same names in it. A
/// set takes what it does not improve from the set below it by a using-declaration, or is an alias of that
/// set. Sets of other machines get the kernel of `least_isa`, which is never called for them because
/// use_isa() refuses them. Sets below `least_isa` get that one, too. With CCOLL_NO_AVX512, for all files of a
/// program, kernels above AVX2 are not compiled.
#if defined(CCOLL_X86_KERNELS) && defined(CCOLL_NO_AVX512)
#define CCOLL_EACH_ISA(...) CCOLL_UP_TO_AVX2(__VA_ARGS__)
#elif defined(CCOLL_X86_KERNELS)
#define CCOLL_EACH_ISA(...)                                                                   \
    CCOLL_OR_PORTABLE::__VA_ARGS__, CCOLL_OR_AVX2::__VA_ARGS__, CCOLL_OR_AVX512::__VA_ARGS__, \
        avx512_gfni::__VA_ARGS__, CCOLL_OR_PORTABLE::__VA_ARGS__
#elif defined(CCOLL_NEON_KERNELS)
#define CCOLL_EACH_ISA(...)                                                                     \
    portable::__VA_ARGS__, portable::__VA_ARGS__, portable::__VA_ARGS__, portable::__VA_ARGS__, \
        neon::__VA_ARGS__
#else
#define CCOLL_EACH_ISA(...) CCOLL_UP_TO_AVX2(__VA_ARGS__)
#endif

/// The same for kernels of portable code and AVX2 alone, which all higher sets of x86 take. Compilers make
/// NEON of the portable ones.
#if defined(CCOLL_X86_KERNELS)
#define CCOLL_UP_TO_AVX2(...)                                                                     \
    CCOLL_PORTABLE_OR_AVX2::__VA_ARGS__, avx2::__VA_ARGS__, avx2::__VA_ARGS__, avx2::__VA_ARGS__, \
        CCOLL_PORTABLE_OR_AVX2::__VA_ARGS__
#else
#define CCOLL_UP_TO_AVX2(...)                                                                   \
    portable::__VA_ARGS__, portable::__VA_ARGS__, portable::__VA_ARGS__, portable::__VA_ARGS__, \
        portable::__VA_ARGS__
#endif

}  // namespace ccoll

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// base/config.hpp - floor 0. The only header that asks which compiler is reading, and the few macros of the
// library.
#pragma once

// Every header of the library reaches this one before it says anything itself.
#if __cplusplus < 202002L
#error \
    "ccoll: this file is compiled as an older C++ than C++20; add -std=c++20 (CMake: target_compile_features(... cxx_std_20))"
// Does not exist: compilers stop here, and not after thousands of other errors.
#include <compile_with_std_c++20>
#endif

#include <bit>

/// The inline namespace of everything, so that two versions of the library can live in one program, or the
/// library and a shim that calls MPI by its profiling names (transport/mpi_calls.hpp). A test checks that it
/// follows version.hpp.
#if !defined(CCOLL_ABI)
#if defined(CCOLL_USE_PMPI)
#define CCOLL_ABI v0_2_pmpi
#else
#define CCOLL_ABI v0_2
#endif
#endif

/// Opens and closes a region whose floating-point arithmetic is exactly what is written: no contraction to
/// FMA, no reordering, whatever the user's flags are. A bound is verified with the decoder's own expression,
/// so both must round alike.
/// g++ (and nvcc with g++): by an optimisation pragma, which also asks for -O3, and for loops that begin at
/// cache lines: where they do not, sums of SZp with GFNI take up to an eighth longer, depending on what else
/// is linked. clang: by CCOLL_EXACT_BODY, the first thing in the body of a function with such arithmetic.
/// Tests show the bytes of -O2 under g++ -Ofast and -march=native, nvcc, and clang with each part of
/// -ffast-math. All of -ffast-math is refused with clang, because reductions would lose their NaN.
#if defined(__clang__)
#if defined(__FAST_MATH__)
#error \
    "ccoll: clang's -ffast-math breaks the arithmetic that error bounds and NaN rest on; compile this file without it"
#endif
#define CCOLL_EXACT_BEGIN
#define CCOLL_EXACT_END
#define CCOLL_EXACT_BODY _Pragma("float_control(precise, on)") _Pragma("clang fp contract(off)")
#elif defined(__GNUC__)
// Its front end hands the pragmas on to g++, but warns that it does not know the second one.
#if defined(__CUDACC__)
#define CCOLL_EXACT_BEGIN                                                                          \
    _Pragma("nv_diagnostic push") _Pragma("nv_diag_suppress 1675") _Pragma("GCC push_options")     \
        _Pragma("GCC optimize(\"O3\", \"align-loops=64\", \"no-fast-math\", \"fp-contract=off\")") \
            _Pragma("nv_diagnostic pop")
#elif defined(CCOLL_LESS_OPTIMISED)  // tests that compile kernels only to call them by name: in half the time
#define CCOLL_EXACT_BEGIN \
    _Pragma("GCC push_options") _Pragma("GCC optimize(\"O1\", \"no-fast-math\", \"fp-contract=off\")")
#else
#define CCOLL_EXACT_BEGIN       \
    _Pragma("GCC push_options") \
        _Pragma("GCC optimize(\"O3\", \"align-loops=64\", \"no-fast-math\", \"fp-contract=off\")")
#endif
#define CCOLL_EXACT_END _Pragma("GCC pop_options")
#define CCOLL_EXACT_BODY
#else
#define CCOLL_EXACT_BEGIN
#define CCOLL_EXACT_END
#define CCOLL_EXACT_BODY
#endif

/// Rounds a product that a sum will meet: without it a compiler may make one instruction of both, which
/// rounds once. `x` is a variable of a floating-point type, or of a register of them:
///
///     auto product = value * inverse;
///     CCOLL_ROUNDED(product);
///     const auto nearest = product + whole;
///
/// clang: with -ffp-contract=fast its backend looks for products and sums after all pragmas, also in
/// functions of instruction sets that imply FMA, whatever the flags say of the machine. An empty instruction
/// in between takes no time, but loops with one are not vectorised, so kernels use registers (exact.hpp has a
/// function for plain numbers). g++ keeps to CCOLL_EXACT_BEGIN, and never inlines such functions into others.
/// Products by powers of two are exact and need nothing.
#if defined(__clang__) && !defined(__CUDA_ARCH__)
#if defined(__SSE2__)
#define CCOLL_ROUNDED(x) CCOLL_KEPT("+v", x)
#elif defined(__aarch64__)
#define CCOLL_ROUNDED(x) CCOLL_KEPT("+w", x)
#else  // in memory, where every machine can have it
#define CCOLL_ROUNDED(x) CCOLL_KEPT("+m", x)
#endif
#define CCOLL_KEPT(where, x)                                            \
    do {                                                                \
        if (!__builtin_is_constant_evaluated()) __asm__("" : where(x)); \
    } while (false)
#else
#define CCOLL_ROUNDED(x) static_cast<void>(x)
#endif

/// In front of a loop with CCOLL_ROUNDED over the registers of a block: by itself clang unrolls none that has
/// such instructions.
#if defined(__clang__)
#define CCOLL_UNROLLED_ROUNDED _Pragma("clang loop unroll(full)")
#else
#define CCOLL_UNROLLED_ROUNDED
#endif

/// A function of the host that kernels call as well. Its body must not call others, std::bit_cast included.
#if defined(__CUDACC__)
#define CCOLL_HOST_DEVICE __host__ __device__
#else
#define CCOLL_HOST_DEVICE
#endif

/// The kernels that this compiler can build beside the portable ones. Functions carry their instruction set
/// as an attribute, so the user's -march does not matter; isa.hpp asks the machine at run time. aarch64
/// always has NEON.
#if defined(__x86_64__) && defined(__GNUC__)
#define CCOLL_X86_KERNELS
#elif defined(__aarch64__) && defined(__GNUC__)
#define CCOLL_NEON_KERNELS
#endif

/// The instruction sets as the compiler spells them. Each x86 set includes the one before it. This is the
/// only place with target strings: a file of kernels defines CCOLL_TARGET as one of these four, then includes
/// <ccoll/base/kernels_begin.inl>, and at its end <ccoll/base/kernels_end.inl>. CCOLL_TARGET is the attribute
/// of every function in between.
#define CCOLL_PLAIN
#define CCOLL_AVX2 __attribute__((target("avx2,f16c,popcnt,lzcnt,bmi,bmi2")))
#define CCOLL_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,f16c,popcnt,lzcnt,bmi,bmi2")))
#define CCOLL_AVX512_GFNI                                                                               \
    __attribute__((                                                                                     \
        target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vnni,gfni,f16c,popcnt," \
               "lzcnt,bmi,bmi2")))

/// AVX2 with FMA, which isa::avx2 implies: for functions that ask for it. Nothing else in kernels for AVX2
/// can be contracted.
#define CCOLL_AVX2_FMA __attribute__((target("avx2,fma,f16c,popcnt,lzcnt,bmi,bmi2")))

/// Beside these sets: the instructions of CRC-32C, which are asked for by their own names
/// (integrity/crc32c.hpp).
#define CCOLL_X86_CRC __attribute__((target("sse4.2,pclmul")))
#define CCOLL_NEON_CRC __attribute__((target("+crc")))

/// Primitives of a set: CCOLL_TARGET, and always inlined into the loops that use them.
#if defined(__GNUC__)
#define CCOLL_INLINE CCOLL_TARGET inline __attribute__((always_inline))
#else
#define CCOLL_INLINE CCOLL_TARGET inline
#endif

/// In front of a loop over up to 8 registers: else g++ 12 keeps arrays of registers in memory.
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#define CCOLL_UNROLLED _Pragma("GCC unroll 8")
#else
#define CCOLL_UNROLLED
#endif

/// An opaque call: g++ 12 otherwise concludes, through functions that take structs of pointers by value
/// (-fipa-modref, -fipa-pure-const), that a call does not write to a buffer on the caller's stack, and keeps
/// the old values in registers. tests/collectives/buffers.cpp fails without it.
#if defined(__GNUC__) && !defined(__clang__)
#define CCOLL_OPAQUE [[gnu::noipa]]
#else
#define CCOLL_OPAQUE
#endif

static_assert(std::endian::native == std::endian::little,
              "ccoll: encoded streams are little-endian and so must the host be");

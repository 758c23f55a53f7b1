// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// test: aarch64
// base/isa.hpp: which instruction set is in use, and the kernels that are called for it.
#include "support/catch.hpp"

#include <cstdlib>
#include <string>

#include <ccoll/base/isa.hpp>

using ccoll::isa;

namespace {

struct restored {
    isa before = ccoll::isa_in_use();
    ~restored() { ccoll::use_isa(before); }
};

namespace sets {

namespace portable {
[[maybe_unused]] int number() { return 0; }
}  // namespace portable
#if defined(CCOLL_X86_KERNELS)
namespace avx2 {
[[maybe_unused]] int number() { return 1; }
}  // namespace avx2
namespace avx512 {
[[maybe_unused]] int number() { return 2; }
}  // namespace avx512
namespace avx512_gfni {
[[maybe_unused]] int number() { return 3; }
}  // namespace avx512_gfni
constexpr int best_of(int set)
{
    return set < static_cast<int>(ccoll::least_isa) ? static_cast<int>(ccoll::least_isa) : set;
}
static_assert(static_cast<int>(isa::avx512_gfni) == 3);
#if defined(CCOLL_NO_AVX512)
constexpr int expected[] = {best_of(0), 1, 1, 1, best_of(0)};
#else
constexpr int expected[] = {best_of(0), best_of(1), best_of(2), 3, best_of(0)};
#endif
#elif defined(CCOLL_NEON_KERNELS)
namespace neon {
int number() { return 4; }
}  // namespace neon
constexpr int expected[] = {0, 0, 0, 0, 4};
#else
constexpr int expected[] = {0, 0, 0, 0, 0};
#endif
constexpr ccoll::detail::by_isa numbers{CCOLL_EACH_ISA(number)};

}  // namespace sets

}  // namespace

TEST_CASE(
    "a machine has the least instruction set and its highest one, and every set between them of the same "
    "family",
    "[base][isa]")
{
    using ccoll::least_isa;
    const isa highest = ccoll::highest_isa();
    CHECK(ccoll::machine_has(least_isa));
    CHECK(ccoll::machine_has(highest));
    CHECK(ccoll::machine_has(isa::portable) == (least_isa == isa::portable));
    CHECK(ccoll::machine_has(isa::neon) == (highest == isa::neon));
    CHECK(ccoll::machine_has(isa::avx2) ==
          (least_isa <= isa::avx2 &&
           (highest == isa::avx2 || highest == isa::avx512 || highest == isa::avx512_gfni)));
    CHECK(ccoll::machine_has(isa::avx512) ==
          (least_isa <= isa::avx512 && (highest == isa::avx512 || highest == isa::avx512_gfni)));
}

TEST_CASE("the least instruction set is what the compiler's flags ask for", "[base][isa]")
{
#if defined(__AVX512F__) && defined(__GFNI__)
    CHECK(ccoll::least_isa >= isa::avx512);
#elif defined(__AVX2__) && defined(__BMI2__)
    CHECK(ccoll::least_isa >= isa::avx2);
#else
    CHECK(ccoll::least_isa == isa::portable);
#endif
}

TEST_CASE("an instruction set that the machine lacks is refused, and the choice stays as it was",
          "[base][isa]")
{
    const restored guard;
    for (const isa before : ccoll::every_isa) {
        if (!ccoll::machine_has(before)) continue;
        for (const isa wish : ccoll::every_isa) {
            REQUIRE(ccoll::use_isa(before) == before);
            const isa expected = ccoll::machine_has(wish) ? wish : before;
            INFO(ccoll::name_of(before) << ", then " << ccoll::name_of(wish));
            CHECK(ccoll::use_isa(wish) == expected);
            CHECK(ccoll::isa_in_use() == expected);
        }
    }
}

TEST_CASE("CCOLL_ISA names an instruction set, and is ignored if the name is unknown or the machine lacks it",
          "[base][isa]")
{
    const char* const set = std::getenv("CCOLL_ISA");
    const std::string before = set != nullptr ? set : "";
    for (const isa i : ccoll::every_isa) {
        REQUIRE(setenv("CCOLL_ISA", ccoll::name_of(i), 1) == 0);
        CHECK(ccoll::detail::isa_of_environment() == (ccoll::machine_has(i) ? i : ccoll::highest_isa()));
    }
    for (const char* const name : {"", "AVX2", "avx", "avx5122"}) {
        REQUIRE(setenv("CCOLL_ISA", name, 1) == 0);
        CHECK(ccoll::detail::isa_of_environment() == ccoll::highest_isa());
    }
    if (set != nullptr) setenv("CCOLL_ISA", before.c_str(), 1);
    else unsetenv("CCOLL_ISA");
}

TEST_CASE("a table of kernels calls the kernel of the instruction set in use", "[base][isa]")
{
    const restored guard;
    for (const isa i : ccoll::every_isa) {
        CHECK(sets::numbers[i]() == sets::expected[static_cast<int>(i)]);
        if (ccoll::use_isa(i) == i) CHECK(sets::numbers.in_use()() == sets::expected[static_cast<int>(i)]);
    }
}

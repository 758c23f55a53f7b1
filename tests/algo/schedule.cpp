// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ccoll/algo/schedule.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <vector>

namespace schedule_cases {

using namespace ccoll;

static_assert(block_set{1, 3}.at(2, 4) == 3 && block_set{2, 3}.at(2, 4) == 0 &&
              block_set{1, 2, 3}.at(1, 8) == 4);
static_assert(block_set{2, 4, 8, 2}.at(1, 12) == 3 && block_set{2, 4, 8, 2}.at(2, 12) == 10 &&
              block_set{2, 3, 8, 2}.contains(10, 12));
static_assert(!block_set{2, 3, 8, 2}.contains(11, 12) && !block_set{2, 4, 8, 2}.contains(4, 12) &&
              !block_set{}.contains(0, 1));

TEST_CASE(
    "a set of blocks contains exactly the blocks that at() lists, also across the end, with strides and with "
    "runs",
    "[algo]")
{
    int sets = 0, long_way = 0;
    for (int blocks : {1, 2, 5, 8, 12})
        for (int first = 0; first < blocks; ++first)
            for (int run = 1; run <= blocks; ++run)
                for (int stride = 0; stride <= blocks + 1; ++stride)
                    for (int count = 0; count <= blocks; ++count) {
                        const block_set set{first, count, stride, run};
                        std::vector<int> counted;
                        for (int i = 0; i < count; ++i) counted.push_back(set.at(i, blocks));
                        std::sort(counted.begin(), counted.end());
                        if (std::adjacent_find(counted.begin(), counted.end()) != counted.end())
                            continue;  // a block appears twice, which is not allowed
                        ++sets;
                        long_way += count > 0 && set.at(count - 1, blocks) < first ? 1 : 0;
                        for (int b = 0; b < blocks; ++b)
                            if (set.contains(b, blocks) !=
                                std::binary_search(counted.begin(), counted.end(), b))
                                FAIL_CHECK(first << ", " << count << ", " << stride << ", " << run << " of "
                                                 << blocks << ", block " << b);
                    }
    CHECK(sets > 4000);
    CHECK(long_way > 1000);
}

TEST_CASE("a set of blocks without runs has a constant stride", "[algo]")
{
    for (int blocks : {1, 2, 5, 8, 12})
        for (int first = 0; first < blocks; ++first)
            for (int stride : {1, 2, 3, blocks - 1})
                for (int i = 0; i < blocks; ++i)
                    CHECK(block_set{first, blocks, stride}.at(i, blocks) == (first + i * stride) % blocks);
}

TEST_CASE("logarithms and doublings for every number of ranks", "[algo]")
{
    for (int p = 1; p <= 300; ++p) {
        CHECK((1 << ceil_log2(p)) >= p);
        CHECK((p == 1 || (1 << ceil_log2(p)) < 2 * p));
        int largest = 1, sent = 0;
        for (int message = 1; sent < p - 1; message *= 2) {
            const int now = std::min(message, p - 1 - sent);
            largest = std::max(largest, now);
            sent += now;
        }
        CHECK(largest_doubling(p) == largest);
    }
}

}  // namespace schedule_cases

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranks that are told of trouble: what each heard, and that the communicator works afterwards.
#pragma once

#include "worlds.hpp"

namespace worlds {

/// What one rank heard of a call.
struct heard {
    bool returned = false;
    std::string text;  ///< of ccoll::error; "" when nothing was thrown
    ccoll::verdict what;
    bool works_afterwards = false;

    bool told(status s) const { return what.code == s; }
};

/// Calls `call(comm)` on every rank, then a good call of the whole communicator. All ranks must return promptly.
template <class Call>
std::vector<heard> listen(int p, Call call, bool go_on = true)
{
    return run<heard>(
        p,
        [=](threads_comm& comm, heard& mine) {
            try {
                call(comm);
            } catch (const ccoll::error& e) {
                mine.text = e.what();
                mine.what = e.what_happened();
            }
            mine.returned = true;
            if (!go_on) return;
            std::vector<float> one(300, 1);
            try {
                ccoll::allreduce<ccoll::policies::Algo::Ring>(one, comm);
                mine.works_afterwards = one[0] == static_cast<float>(p) && one[299] == static_cast<float>(p);
            } catch (const ccoll::error& e) {
                mine.text += std::string(" AFTERWARDS: ") + e.what();
            }
        },
        promptly);
}

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Every rank heard of `code` (one of the two), in whole sentences, and could go on.
inline void all_heard(const std::vector<heard>& all, status code, status or_else = status::ok)
{
    for (std::size_t r = 0; r < all.size(); ++r) {
        INFO("rank " << r << " of " << all.size() << ": '" << all[r].text << "'");
        CHECK((all[r].told(code) || (or_else != status::ok && all[r].told(or_else))));
        CHECK(has(all[r].text, "ccoll::"));
        CHECK(has(all[r].text, "rank "));
        CHECK(all[r].works_afterwards);
    }
}
/// At least one rank heard of it, nobody of anything else, all could go on.
inline void some_heard(const std::vector<heard>& all, status code, status or_else = status::ok)
{
    std::size_t told = 0;
    for (std::size_t r = 0; r < all.size(); ++r) {
        INFO("rank " << r << " of " << all.size() << ": '" << all[r].text << "'");
        CHECK((all[r].text.empty() || all[r].told(code) || (or_else != status::ok && all[r].told(or_else))));
        CHECK(all[r].works_afterwards);
        told += !all[r].text.empty();
    }
    CHECK(told > 0);
}
/// All heard, and the same sentence.
inline void same_sentence(const std::vector<heard>& all, status code)
{
    all_heard(all, code);
    for (const heard& each : all) CHECK(each.text == all[0].text);
}

}  // namespace worlds

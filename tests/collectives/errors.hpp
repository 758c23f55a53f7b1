// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranks that get errors: what each of them heard, and whether the communicator works afterwards.
#pragma once

#include "worlds.hpp"

namespace worlds {

/// What one rank heard about a call.
struct heard {
    bool returned = false;
    std::string text;  ///< of ccoll::error; "" if nothing was thrown
    ccoll::verdict what;
    bool works_afterwards = false;

    bool told(status s) const { return what.code == s; }
};

/// Calls `call(comm)` on every rank, and then makes a good call on the whole communicator. All ranks must
/// return promptly.
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

inline bool has(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

/// Every rank got `code` (or the other one) in a whole sentence, and could go on.
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
/// At least one rank got the code, no rank got another one, and all could go on.
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
/// All ranks got the code with the same sentence.
inline void same_sentence(const std::vector<heard>& all, status code)
{
    all_heard(all, code);
    for (const heard& each : all) CHECK(each.text == all[0].text);
}

}  // namespace worlds

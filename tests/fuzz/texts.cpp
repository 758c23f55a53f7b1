// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fuzz target: any text in place of a tuning file or of CCOLL_ALGO. It is read, or refused with one sentence;
// and what was read is written as a text that says the same.
#include "fuzz/input.hpp"

#include <string>
#include <string_view>

#include <ccoll/tune/file.hpp>
#include <ccoll/tune/override.hpp>

namespace {

namespace tune = ccoll::tune;

void require_sentence(const std::string& fault)
{
    for (const char c : fault)
        fuzz::require(static_cast<unsigned char>(c) >= ' ', "a fault of several lines");
}
void read_tuning_file(std::string_view text)
{
    const tune::tuning_table table = tune::parse_tuning(text);
    require_sentence(table.fault);
    if (!table.fault.empty()) return fuzz::require(table.classes.empty(), "classes of a faulty file");
    const tune::tuning_table again = tune::parse_tuning(tune::tuning_text(table.classes));
    fuzz::require(again.fault.empty() && again.classes == table.classes, "a tuning file does not come back");
    fuzz::require(tune::merge(table.classes, again.classes).size() == table.classes.size(),
                  "merging a file with itself adds classes");
}
void read_overrides(std::string_view text)
{
    const ccoll::candidate all[] = {{"Ring", "SZp", "Homomorphic", false, 1e-3},
                                    {"Ring", "SZp", "PerHop", false, 1e-3},
                                    {"Ring", "None", "PerHop"},
                                    {"MPI"}};
    const tune::parsed_overrides rules = tune::parse_overrides(text);
    require_sentence(rules.fault);
    if (!rules.fault.empty()) fuzz::require(rules.rules.empty(), "rules of a faulty text");
    for (const char* collective : {"allreduce", "bcast"})
        for (const std::size_t bytes : {std::size_t{0}, std::size_t{65536}, ~std::size_t{0}}) {
            const tune::override_match found = tune::match(rules.rules, collective, bytes, all);
            require_sentence(found.fault);
            fuzz::require((found.what == tune::override_match::kind::fault) == !found.fault.empty(),
                          "a fault without a sentence");
            fuzz::require(found.index < std::size(all), "a rule chooses what there is not");
        }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size == 0) return 0;
    const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
    if ((data[0] & 1) != 0) read_overrides(text);
    else read_tuning_file(text);
    return 0;
}

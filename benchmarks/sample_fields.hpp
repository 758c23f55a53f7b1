// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sample_fields.hpp - the data of a rank by its name: a generated field (fields.hpp), or a file of floats.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>

#include "fields.hpp"
#include "real_fields.hpp"

namespace fields {

/// For CLI11: "" if sample() knows this name.
inline std::string known(const std::string& name)
{
    if (name == "turbulence" || name == "wavefronts" ||
        (name.ends_with(".f32") && std::filesystem::is_regular_file(name)))
        return "";
    return "expected turbulence, wavefronts or a file *.f32, and found '" + name + "'";
}

inline std::string name_of(const std::string& name)
{
    return name.ends_with(".f32") ? std::filesystem::path(name).stem().string() : name;
}

/// Generated fields differ by seed. A file is as long as it is, and is repeated; with another seed it begins
/// elsewhere.
inline std::vector<float> sample(const std::string& name, std::size_t n, unsigned seed)
{
    if (name == "turbulence") return turbulence(n, seed);
    if (name == "wavefronts") return wavefronts(n, seed);
    const std::vector<float> file = read_middle<float>(name, std::size_t{1} << 40);
    std::vector<float> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = file[(i + seed * (file.size() / 7)) % file.size()];
    return x;
}

}  // namespace fields

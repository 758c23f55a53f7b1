// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// real_fields.hpp - reads measured or computed fields from a folder of raw little-endian files, *.f32 and
// *.f64.
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace fields {

/// The files of a folder that hold elements of type T, sorted by name.
template <class T>
std::vector<std::filesystem::path> files_of(const std::filesystem::path& folder)
{
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        if (entry.is_regular_file() && entry.path().extension() == (sizeof(T) == 4 ? ".f32" : ".f64"))
            found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    return found;
}

/// At most n values from the middle of a file. Throws std::runtime_error with a sentence that names the file.
template <class T>
std::vector<T> read_middle(const std::filesystem::path& file, std::size_t n)
{
    const std::size_t there = static_cast<std::size_t>(std::filesystem::file_size(file)) / sizeof(T);
    if (there == 0 || std::filesystem::file_size(file) % sizeof(T) != 0)
        throw std::runtime_error(file.string() + ": expected a whole number of " + std::to_string(sizeof(T)) +
                                 "-byte elements");
    std::vector<T> values(std::min(n, there));
    std::ifstream stream(file, std::ios::binary);
    stream.seekg(static_cast<std::streamoff>((there - values.size()) / 2 * sizeof(T)));
    stream.read(reinterpret_cast<char*>(values.data()),
                static_cast<std::streamsize>(values.size() * sizeof(T)));
    if (!stream) throw std::runtime_error(file.string() + ": cannot be read");
    return values;
}

}  // namespace fields

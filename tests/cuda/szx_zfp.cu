// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernels of SZx, PipeSZx and ZFP at a rate on a GPU, beside the host codecs: the same chunks and the
// same bits. Any argument: briefly.
#include "checks.hpp"

#include "support/fields.hpp"

#include <vector>

using namespace ccoll::policies;

namespace {

template <class T>
void all_codecs(std::size_t n, ccoll::codec_stream& codecs)
{
    std::vector<fields::named<T>> list = fields::all<T>(n);
    std::vector<T> land = fields::smooth<T>(n);
    for (std::size_t i = 0; i < n; ++i)
        if (i % 128 < 40 + i / 128 % 20) land[i] = T(1e20);
    list.push_back({"land", land});
    for (const auto& [name, values] : list) {
        for (const double eb : {1e-1, 1e-3, 1e-6, 1e-11}) {
            gpu::check_movement<Codec::SZx, T>(name, values, eb, codecs);
            gpu::check_movement<Codec::PipeSZx, T>(name, values, eb, codecs);
        }
        for (const double rate : {8.0, 16.0, 5.3})
            gpu::check_movement<Codec::ZfpAtRate, T>(name, values, rate, codecs);
    }
}

}  // namespace

int main(int argc, char**)
{
    gpu::need_gpu();
    gpu::for_lengths(argc > 1, {0, 1, 33, 5120, 8191, 8192, 8193, 100000, 3000001},
                     [](std::size_t n, ccoll::codec_stream& codecs) {
                         all_codecs<float>(n, codecs);
                         all_codecs<double>(n, codecs);
                     });
    return gpu::report();
}

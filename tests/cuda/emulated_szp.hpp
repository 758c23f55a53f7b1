// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernels of SZp for movement as launches of the emulator, for all element types.
#pragma once

#include "emulated_codecs.hpp"

template <class T>
struct emulated::launches<emulated::SZp, T> {
    static constexpr std::size_t chunk_elements = szp::chunk_elements;

    static void encode(const T* x, std::size_t n, double eb, std::uint8_t* frame, std::uint32_t chunks, device::scratch* s,
                       device::outcome* told, const emulator::options& how)
    {
        const auto z = device::for_chunks_of<T>(eb, szp::grid_of<number_of<T>>);
        emulator::launch(how, std::max(1u, chunks), device::team_threads, sizeof(szp::movement_room<number_of<T>>),
                         [&] { szp::encode<T>(x, n, z, frame, chunks, s, told); });
    }
    static void decode(const std::uint8_t* frame, std::size_t bytes, T* x, std::size_t n, std::uint32_t chunks, device::scratch* s,
                       device::outcome* told, const emulator::options& how)
    {
        emulator::launch(how, std::max(1u, chunks), device::team_threads, sizeof(szp::decode_room<number_of<T>>),
                         [&] { szp::decode<T>(frame, bytes, n, x, chunks, s, told); });
    }
};

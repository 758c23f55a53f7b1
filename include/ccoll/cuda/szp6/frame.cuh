// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cuda/szp6/frame.cuh - floor 4. Headers of frames in wire version 6, and the end of a call.
#pragma once

#include <ccoll/cuda/szp6/layout.cuh>

namespace ccoll::inline CCOLL_ABI::detail::device::szp6 {

/// Of a frame whose header is good.
CCOLL_DEVICE u32 flags_of(const frame_in& f) { return f.frame[7]; }
CCOLL_DEVICE double bound_of(const frame_in& f) { return number_of(load_as<u64>(f.frame + 16)); }

/// Is this the header of a frame of n elements that this version reads? The bytes in front of the payload that mean nothing are 0.
template <class T>
CCOLL_DEVICE_RARE status check_header(const frame_in& f, u64 n, u32 chunks)
{
    const u8* const p = f.frame;
    if (f.bytes < index_begin || load_as<u32>(p) != 0x4C4F4343u) return status::corrupt;
    constexpr u32 dtype = dtype_of<T>;
    const u32 word = load_as<u32>(p + 4), flags = word >> 24;
    if ((word & 255) != version) return status::wire_version;
    if ((word >> 8 & 0xffff) != (codec_number | dtype << 8) || load_as<u32>(p + 24) != chunk_elements) return status::foreign_frame;
    if (load_as<u64>(p + 8) != n) return status::count_differs;
    const double b = bound_of(f);
    const bool good = (flags == 0 || flags == addend_flag || flags == (addend_flag | too_large_flag)) && load_as<u32>(p + 28) == chunks &&
                      b > 0 && b < 1e300 && load_as<u32>(p + 32) == static_cast<u32>(quality::absolute) && load_as<u64>(p + 40) == 0 &&
                      f.payload != nullptr && load_as<u32>(p + payload_field) <= f.units;
    if (!good) return status::corrupt;
    return chunks % 2 == 0 || load_as<u64>(p + index_begin + u64{8} * chunks) == 0 ? status::ok : status::corrupt;
}

/// What an addend has to have in common with a call.
template <class T>
CCOLL_DEVICE_RARE status check_addend(const frame_in& f, u64 n, u32 chunks, double bound)
{
    if (const status s = check_header<T>(f, n, chunks); s != status::ok) return s;
    if (flags_of(f) == 0) return status::not_an_addend;
    return bits_of(bound_of(f)) == bits_of(bound) ? status::ok : status::bound_differs;
}

/// By one thread. @param units  of the payload
template <class T>
CCOLL_DEVICE void put_header(u8* frame, u64 n, u32 chunks, double bound, u32 flags, u32 units)
{
    constexpr u32 dtype = dtype_of<T>;
    const u64 eb = bits_of(bound);
    store_as(frame,
             uint4{0x4C4F4343u, version | codec_number << 8 | dtype << 16 | flags << 24, static_cast<u32>(n), static_cast<u32>(n >> 32)});
    store_as(frame + 16, uint4{static_cast<u32>(eb), static_cast<u32>(eb >> 32), chunk_elements, chunks});
    store_as(frame + 32, uint4{static_cast<u32>(quality::absolute), units, 0, 0});
    if (chunks % 2 != 0) store_as(frame + index_begin + u64{8} * chunks, u64{0});
}

/// The last thread block of a call tells the host, and leaves `w` as it was. An addend that cannot be held becomes a frame that says so.
/// @param to  the frame that has been written, if any    @param room  a word of shared memory
template <class T>
CCOLL_DEVICE void end_call(const frame_out& to, u64 n, u32 chunks, double bound, u32 flags, u32 blocks, work* w, outcome* told, u32& room)
{
    if (me() == 0) room = count_up(&w->blocks_done);
    __syncthreads();
    if (room + 1 != blocks) return;
    const u32 code = w->code;
    const bool too_large = code == static_cast<u32>(status::too_large);
    if (to.frame != nullptr && too_large)
        for (u32 i = me(); i < chunks; i += team_threads) to.put_entry(i, 0, 0, false);
    __syncthreads();
    if (me() != 0) return;
    const u32 units = too_large ? 0 : w->units;
    if (to.frame != nullptr) put_header<T>(to.frame, n, chunks, bound, flags | (too_large ? too_large_flag : 0), units);
    told->bytes = to.frame != nullptr ? to.begin + u64{unit_bytes} * units : 0;
    told->code = code;
    told->raw_chunks = w->raw_chunks;
    told->special_values = too_large ? 0 : w->special_values;
    w->units = w->listed = w->blocks_done = w->code = w->raw_chunks = 0;
    w->special_values = 0;
}

}  // namespace ccoll::detail::device::szp6

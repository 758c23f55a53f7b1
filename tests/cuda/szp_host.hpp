// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Frames of SZp whose chunks the host's coder writes, reads and adds.
#pragma once

#include <ccoll/codec/szp.hpp>

#include "support/szp_reference.hpp"

namespace szp_host {

namespace reference = szp_reference;
using reference::bytes;

template <class T>
using coder = ccoll::codec_impl<ccoll::policies::Codec::SZp, T, ccoll::host_space>;

struct frame_result {
    bytes frame;
    ccoll::status code = ccoll::status::ok;
};
template <class T>
struct values_result {
    std::vector<T> values;
    ccoll::status code = ccoll::status::ok;
};

inline std::size_t chunks_of(std::size_t n) { return (n + 8191) / 8192; }
inline std::size_t length_of(std::size_t n, std::size_t chunk)
{
    return std::min<std::size_t>(8192, n - 8192 * chunk);
}
inline ccoll::const_byte_span span_of(const bytes& b)
{
    return {reinterpret_cast<const std::byte*>(b.data()), b.size()};
}

/// A frame of chunks that are written one by one.
/// @param write  (chunk, place to write to) -> ccoll::encode_result
template <class T, class Write>
frame_result frame_of(std::size_t n, double eb, bool addend, Write write)
{
    reference::frame f{n, eb, addend ? 1u : 0u, {}};
    bytes room(coder<T>::max_addend_bytes(8192) + 9 * 8192);
    for (std::size_t i = 0; i < chunks_of(n); ++i) {
        const ccoll::encode_result r =
            write(i, ccoll::byte_span(reinterpret_cast<std::byte*>(room.data()), room.size()));
        if (r.code != ccoll::status::ok) return {{}, r.code};
        const bool raw = r.bytes == ~std::size_t{0};
        const std::size_t size = raw ? sizeof(T) * length_of(n, i) : r.bytes;
        f.chunks.push_back({raw, bytes(room.data(), room.data() + size)});
    }
    return {reference::write_frame<T>(f)};
}
template <class T>
frame_result encode(const std::vector<T>& x, double eb, const std::optional<reference::word<T>>& missing = {})
{
    return frame_of<T>(x.size(), eb, false, [&](std::size_t i, ccoll::byte_span to) {
        const std::span<const T> part(x.data() + 8192 * i, length_of(x.size(), i));
        const ccoll::encode_result r =
            coder<T>::encode_chunk(part, to, {eb, {}, {missing.value_or(0), missing.has_value()}});
        if (r.code == ccoll::status::ok) return r;
        std::memcpy(to.data(), part.data(), part.size_bytes());
        return ccoll::encode_result{~std::size_t{0}};
    });
}
template <class T>
frame_result encode_addend(const std::vector<T>& x, double eb,
                           const std::optional<reference::word<T>>& missing = {})
{
    return frame_of<T>(x.size(), eb, true, [&](std::size_t i, ccoll::byte_span to) {
        return coder<T>::encode_addend({x.data() + 8192 * i, length_of(x.size(), i)}, to,
                                       {eb, {}, {missing.value_or(0), missing.has_value()}});
    });
}
template <class T>
frame_result add(const bytes& a, const bytes& b)
{
    const reference::frame f = reference::read_frame<T>(a), g = reference::read_frame<T>(b);
    return frame_of<T>(f.n, f.bound, true, [&](std::size_t i, ccoll::byte_span to) {
        return coder<T>::add_chunks(span_of(f.chunks[i].data), span_of(g.chunks[i].data), length_of(f.n, i),
                                    to);
    });
}
/// A frame for movement, or an addend. Any bytes are safe.
template <class T>
values_result<T> decode(const bytes& from, const std::optional<reference::word<T>>& missing = {})
{
    reference::frame f;
    try {
        f = reference::read_frame<T>(from);
    } catch (const std::runtime_error&) {
        return {{}, ccoll::status::corrupt};
    }
    values_result<T> r{std::vector<T>(f.n)};
    for (std::size_t i = 0; i < f.chunks.size(); ++i) {
        const std::span<T> to(r.values.data() + 8192 * i, length_of(f.n, i));
        const bytes& c = f.chunks[i].data;
        ccoll::status s = ccoll::status::ok;
        if (f.chunks[i].raw) {
            if (f.flags != 0 || c.size() != to.size_bytes()) s = ccoll::status::corrupt;
            else std::memcpy(to.data(), c.data(), c.size());
        } else if (f.flags == 0) {
            s = coder<T>::decode_chunk(span_of(c), to, f.bound);
        } else if (missing) {
            s = coder<T>::decode_addend(span_of(c), to, f.bound,
                                        {ccoll::stores::cached, 1, {*missing, true}});
        } else {
            s = coder<T>::decode_addend(span_of(c), to, f.bound);
        }
        if (s != ccoll::status::ok) r.code = s;
    }
    return r;
}

}  // namespace szp_host

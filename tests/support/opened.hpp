// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// opened.hpp - the table of a codec for tests that hold bytes: each reader opens the frame first.
#pragma once

#include <ccoll/codec.hpp>

namespace opened {

template <class C, class T>
struct frames : ccoll::frame_codec<T> {
    frames() : ccoll::frame_codec<T>(ccoll::frame_codec_of<C, T>) {}

    ccoll::status decode(ccoll::const_byte_span src, std::span<T> out, ccoll::stores how,
                         ccoll::between_chunks tell = {}) const
    {
        ccoll::frame_view view;
        const ccoll::status s = this->open(src, out.size(), view);
        return s == ccoll::status::ok ? table().decode(view, out, {how}, tell) : s;
    }
    ccoll::status decode_reduce(ccoll::const_byte_span src, std::span<const T> own, T* out,
                                const ccoll::reduction<T>& op, ccoll::between_chunks tell = {}) const
    {
        ccoll::frame_view view;
        const ccoll::status s = this->open(src, own.size(), view);
        return s == ccoll::status::ok ? table().decode_reduce(view, own, out, op, tell) : s;
    }
    ccoll::encode_result decode_reduce_encode(ccoll::const_byte_span src, std::span<const T> own,
                                              ccoll::byte_span dst, double eb, const ccoll::reduction<T>& op,
                                              ccoll::between_chunks tell = {}) const
    {
        ccoll::frame_view view;
        const ccoll::status s = this->open(src, own.size(), view);
        return s == ccoll::status::ok ? table().decode_reduce_encode(view, own, dst, {eb}, op, tell)
                                      : ccoll::encode_result{0, s};
    }

private:
    const ccoll::frame_codec<T>& table() const { return *this; }
};

}  // namespace opened

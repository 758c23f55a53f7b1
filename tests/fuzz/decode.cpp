// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fuzz target: any bytes in place of a frame, for every codec that moves data. All readers give one status
// and stay in their room (the sanitizers see the rest), whatever instruction set is in use. The same for
// chunks alone.
#include "fuzz/chunks.hpp"

#include "support/opened.hpp"

using namespace ccoll::policies;
using ccoll::status;

namespace {

template <class C, class T>
void read_everywhere(ccoll::const_byte_span frame, ccoll::isa isa)
{
    const std::size_t n = fuzz::claimed_elements(frame);
    const opened::frames<C, T> face;
    const auto& sum = ccoll::reduction_of<Op::Sum, T>;
    std::vector<T> plain(n), out(n);
    ccoll::use_isa(ccoll::isa::portable);
    const status expected = face.decode(frame, plain, ccoll::stores::cached, {});
    ccoll::use_isa(isa);
    const status found = face.decode(frame, out, ccoll::stores::streamed, {});
    fuzz::require(fuzz::is_status(expected), "decode gives no status");
    fuzz::require(found == expected, "decode depends on the instruction set");
    if (found == status::ok)
        fuzz::require(round_trip::same_bits(plain, out), "decoded values depend on the instruction set");

    const std::vector<T> own(n, T(1));
    fuzz::require(face.decode_reduce(frame, own, out.data(), sum, {}) == expected,
                  "decode_reduce and decode disagree on a frame");
    fuzz::bytes dst(face.max_bytes(n));
    const auto again = face.decode_reduce_encode(frame, own, dst, C::lossy ? 1e-3 : 0, sum, {});
    fuzz::require(again.code == expected, "decode_reduce_encode and decode disagree on a frame");
    if (again.code != status::ok) return;
    fuzz::require(again.bytes <= dst.size(), "decode_reduce_encode is longer than max_bytes");
    fuzz::require(face.decode(ccoll::const_byte_span(dst).first(again.bytes), out, ccoll::stores::cached,
                              {}) == status::ok,
                  "decode refuses what decode_reduce_encode writes");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size == 0) return 0;
    if (fuzz::is_chunk(data[0])) {
        if (size < fuzz::chunk_input::front) return 0;
        fuzz::with_codec(data[0], [&]<class C, class T>(C, T) {
            fuzz::read_chunk_of<C, T>(data[0], fuzz::chunk_input(data, size));
        });
        return 0;
    }
    // In memory of its own that is exactly as long, so that a sanitizer sees every access beyond it.
    const fuzz::bytes frame(reinterpret_cast<const std::byte*>(data) + 1,
                            reinterpret_cast<const std::byte*>(data) + size);
    fuzz::with_codec(
        data[0], [&]<class C, class T>(C, T) { read_everywhere<C, T>(frame, fuzz::isa_for_codec(data[0])); });
    return 0;
}

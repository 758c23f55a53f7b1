// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bad calls of the codecs alone. CCOLL_CASE picks one; 'expect' is the sentence that must be the only error. Case 0 is the control.
#include <cstddef>
#include <vector>

#include <ccoll/codec.hpp>

using namespace ccoll::policies;

struct UnknownCodec : ccoll::codec_tag<250, true> {
    static constexpr const char* name = "UnknownCodec";
};

void call(std::vector<float>& x, std::vector<int>& i, std::vector<std::byte>& bytes);
void call(std::vector<float>& x, std::vector<int>& i, std::vector<std::byte>& bytes)
{
    (void)i;
#if CCOLL_CASE == 0
    (void)ccoll::encode<Codec::PipeSZx>(x, bytes, 1e-3);
    (void)ccoll::decode<Codec::PipeSZx>(bytes, x);
    (void)ccoll::encode<Codec::None>(x, bytes);
#elif CCOLL_CASE == 1  // expect: ccoll::encode: this codec has no host implementation for this element type; include its header
    (void)ccoll::encode<UnknownCodec>(x, bytes, 1e-3);
#elif CCOLL_CASE == 2  // expect: ccoll::encode: this codec has no host implementation for this element type; include its header
    (void)ccoll::encode<Codec::PipeSZx>(i, bytes, 1e-3);
#elif CCOLL_CASE == 3  // expect: ccoll::reduce_encoded: needs a codec that adds encoded streams
    (void)ccoll::reduce_encoded<Codec::PipeSZx, Op::Sum, float>(bytes, bytes, bytes);
#endif
}

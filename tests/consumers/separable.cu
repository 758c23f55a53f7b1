// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For nvcc -rdc=true, where functions of the device are compiled for other files as well.
#include <ccoll/cuda/codec_stream.cuh>
#include <ccoll/cuda/szx.cuh>

using namespace ccoll::policies;

void encode(ccoll::codec_stream& on, ccoll::device_span<const float> x, ccoll::device_span<std::byte> frame)
{
    on.encode<Codec::SZp>(x, frame, 1e-3);
}
void decode(ccoll::codec_stream& on, ccoll::device_span<const std::byte> frame, ccoll::device_span<double> x)
{
    on.decode<Codec::SZx>(frame, x);
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/zfp/streams.inl - floor 2. All that is compiled once per instruction set, each part before what
// stands on it.

#include <ccoll/codec/zfp/coefficients.inl>

#include <ccoll/codec/zfp/interleave.inl>

#include <ccoll/codec/zfp/layout.inl>

#include <ccoll/codec/zfp/codes.inl>

#include <ccoll/codec/zfp/encode.inl>

#include <ccoll/codec/zfp/read.inl>

#include <ccoll/codec/zfp/decode.inl>

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The coders of chunks, which contain all kernels. They are compiled once, in coders_once_f32.cpp and coders_once_f64.cpp, where they are
// optimised, and not again in each test, which takes a third of the time then. Only tests that are not optimised themselves leave them
// out: a compiler that inlines compiles them again, to have something to inline.
#pragma once

#include <cstdint>

#include <ccoll/ccoll.hpp>
#include <ccoll/codec/bitcut.hpp>
#include <ccoll/codec/bitzip.hpp>
#include <ccoll/codec/bytezip.hpp>
#include <ccoll/codec/sze.hpp>
#include <ccoll/codec/zfp.hpp>

#define CCOLL_TEST_CODERS(storage, T, Word)                                                                              \
    storage template struct ccoll::detail::szp::chunk_coder<T>;                                                          \
    storage template struct ccoll::detail::sze::chunk_coder<T>;                                                          \
    storage template struct ccoll::detail::szx::chunk_coder<                                                             \
        T, ccoll::codec_impl<ccoll::policies::Codec::SZx, T, ccoll::host_space>::chunk_elements>;                        \
    storage template struct ccoll::detail::szx::chunk_coder<                                                             \
        T, ccoll::codec_impl<ccoll::policies::Codec::PipeSZx, T, ccoll::host_space>::chunk_elements>;                    \
    storage template struct ccoll::detail::bytezip::chunk_coder<T>;                                                      \
    storage template struct ccoll::detail::bitzip::chunk_coder<T, false>;                                                \
    storage template struct ccoll::detail::bitzip::chunk_coder<T, true, ccoll::detail::bitzip::beginning::three_kept>;   \
    storage template struct ccoll::detail::bitzip::chunk_coder<T, true, ccoll::detail::bitzip::beginning::as_they_come>; \
    storage template struct ccoll::detail::zfp::chunk_coder<T, false>;                                                   \
    storage template struct ccoll::detail::zfp::chunk_coder<T, true>;                                                    \
    storage template struct ccoll::detail::lossless::stream_coder<Word, sizeof(Word)>

CCOLL_TEST_CODERS(extern, float, std::uint32_t);
CCOLL_TEST_CODERS(extern, double, std::uint64_t);

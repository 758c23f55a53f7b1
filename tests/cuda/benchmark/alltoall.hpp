// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two designs of an all-to-all of device buffers from the literature, to be compared with ccoll::alltoall:
// Zhou et al., "Accelerating MPI All-to-All Communication with Online Compression on Modern GPU Clusters"
// (ISC 2022). Their codec is ZFP at a fixed rate; any codec with kernels will do.
//
//   compress_then_exchange   everything is compressed on one stream, then it leaves (their baseline: a
//                            collective on compressed buffers)
//   compress_by_destination  their proposal: a stream for each destination, pairwise exchange; what is
//                            compressed leaves at once
//
// Both are written with codec_stream and messages between hosts, as a user of the library would.
#pragma once

#include <ccoll/cuda.cuh>

#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

namespace rivals {

/// What both have, made once: streams, codecs, and room for the frames of all destinations on the device and
/// on the host.
/// @tparam Codec  Codec::ZfpAtRate, Codec::SZp
template <class Codec>
class workshop {
public:
    workshop(int ranks, std::size_t block)
        : p_(static_cast<std::size_t>(ranks)), block_(block),
          room_(ccoll::max_encoded_bytes<Codec, float>(block))
    {
        room_ = (room_ + 255) / 256 * 256;
        for (std::size_t i = 0; i < p_; ++i) {
            cudaStream_t s = nullptr;
            must(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
            streams_.push_back(s);
            codecs_.push_back(std::make_unique<ccoll::codec_stream>(s));
            readers_.push_back(std::make_unique<ccoll::codec_stream>(s));
        }
        for (std::byte** each : {&leaving_, &arriving_}) {
            void* at = nullptr;
            must(cudaMalloc(&at, p_ * room_));
            *each = static_cast<std::byte*>(at);
        }
        for (std::byte** each : {&to_send_, &received_}) {
            void* at = nullptr;
            must(cudaHostAlloc(&at, p_ * room_, cudaHostAllocPortable));
            *each = static_cast<std::byte*>(at);
        }
    }
    workshop(const workshop&) = delete;
    workshop& operator=(const workshop&) = delete;
    ~workshop()
    {
        codecs_.clear();
        readers_.clear();
        for (const cudaStream_t s : streams_) cudaStreamDestroy(s);
        for (std::byte* each : {leaving_, arriving_}) cudaFree(each);
        for (std::byte* each : {to_send_, received_}) cudaFreeHost(each);
    }

    /// @param send, recv  p blocks each, on the device    @param eb  the bound, or with ZFP bits per value
    /// @return  bytes of the frames of all destinations
    template <class Comm>
    std::size_t compress_then_exchange(const float* send, float* recv, double eb, const Comm& comm)
    {
        std::vector<std::uint64_t> mine(p_), theirs(p_);
        for (std::size_t i = 0; i < p_; ++i) {
            codecs_[0]->template encode<Codec>(block(send, i), frame(leaving_, i), eb);
            mine[i] = codecs_[0]->result().bytes;
            must(cudaMemcpyAsync(at(to_send_, i), at(leaving_, i), mine[i], cudaMemcpyDeviceToHost,
                                 streams_[0]));
        }
        must(cudaStreamSynchronize(streams_[0]));
        ccoll::alltoall(mine, theirs, comm);
        std::vector<std::uint64_t> places(p_);
        for (std::size_t i = 0; i < p_; ++i) places[i] = i * room_;
        const std::span<const std::byte> from(to_send_, p_ * room_);
        const std::span<std::byte> to(received_, p_ * room_);
        ccoll::alltoallv(from, ccoll::parts(mine, places), to, ccoll::parts(theirs, places), comm);
        for (std::size_t i = 0; i < p_; ++i) {
            must(cudaMemcpyAsync(at(arriving_, i), at(received_, i), theirs[i], cudaMemcpyHostToDevice,
                                 streams_[0]));
            codecs_[0]->template decode<Codec>(whole(i, theirs[i]), block(recv, i));
        }
        must(cudaStreamSynchronize(streams_[0]));
        return std::accumulate(mine.begin(), mine.end(), std::size_t{0});
    }

    template <class Comm>
    std::size_t compress_by_destination(const float* send, float* recv, double eb, const Comm& comm, int me)
    {
        const int p = static_cast<int>(p_);
        std::vector<std::uint64_t> mine(p_), theirs(p_);
        std::vector<ccoll::request> sent;
        const auto to = [&](int k) { return static_cast<std::size_t>((me + k) % p); };
        const auto from = [&](int k) { return static_cast<std::size_t>((me + p - k) % p); };
        for (int k = 0; k < p; ++k)
            codecs_[to(k)]->template encode<Codec>(block(send, to(k)), frame(leaving_, to(k)), eb);
        for (int k = 0; k < p; ++k) {
            const std::size_t i = to(k), j = from(k);
            mine[i] = codecs_[i]->result().bytes;
            must(cudaMemcpyAsync(at(to_send_, i), at(leaving_, i), mine[i], cudaMemcpyDeviceToHost,
                                 streams_[i]));
            must(cudaStreamSynchronize(streams_[i]));
            sent.push_back(
                ccoll::isend(std::span<const std::uint64_t>(&mine[i], 1), static_cast<int>(i), 1, comm));
            sent.push_back(ccoll::isend(std::span<const std::byte>(at(to_send_, i), mine[i]),
                                        static_cast<int>(i), 2, comm));
            ccoll::recv(std::span<std::uint64_t>(&theirs[j], 1), static_cast<int>(j), 1, comm);
            ccoll::recv(std::span<std::byte>(at(received_, j), theirs[j]), static_cast<int>(j), 2, comm);
            must(cudaMemcpyAsync(at(arriving_, j), at(received_, j), theirs[j], cudaMemcpyHostToDevice,
                                 streams_[j]));
            readers_[j]->template decode<Codec>(whole(j, theirs[j]), block(recv, j));
        }
        ccoll::wait_all(sent);
        for (const cudaStream_t s : streams_) must(cudaStreamSynchronize(s));
        return std::accumulate(mine.begin(), mine.end(), std::size_t{0});
    }

private:
    static void must(cudaError_t e)
    {
        if (e != cudaSuccess)
            ccoll::raise("alltoall of the literature", {ccoll::status::device_failed}, cudaGetErrorString(e));
    }
    std::byte* at(std::byte* all, std::size_t i) const { return all + i * room_; }
    ccoll::device_span<std::byte> frame(std::byte* all, std::size_t i) const { return {at(all, i), room_}; }
    ccoll::device_span<const std::byte> whole(std::size_t i, std::uint64_t bytes) const
    {
        return {at(arriving_, i), bytes};
    }
    template <class T>
    ccoll::device_span<T> block(T* all, std::size_t i) const
    {
        return {all + i * block_, block_};
    }

    std::size_t p_, block_, room_;
    std::vector<cudaStream_t> streams_;
    // Apart: each tells of its last call alone.
    std::vector<std::unique_ptr<ccoll::codec_stream>> codecs_, readers_;
    std::byte *leaving_ = nullptr, *arriving_ = nullptr, *to_send_ = nullptr, *received_ = nullptr;
};

}  // namespace rivals

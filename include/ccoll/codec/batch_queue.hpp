// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/batch_queue.hpp - floor 2. Queues whose work an executor does on several threads: one queue for each
// lane of a call, and the work of all lanes at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <ccoll/codec/codec_queue.hpp>
#include <ccoll/codec/placed.hpp>

namespace ccoll::inline CCOLL_ABI::detail {

/// The queues of one thread. Work waits until somebody asks for it in vain twice: by then every lane that
/// could begin any has done so, and the executor gets a part for each lane. The thread takes part, and
/// returns when all of it is done: messages do not move meanwhile, which is some 50 us for a slice of each
/// lane.
template <codec_executor Executor>
class batch {
public:
    /// @param lane  below most_lanes
    static codec_queue queue_of_lane(std::size_t lane) noexcept
    {
        static thread_local batch mine;
        line& l = mine.lines_[lane % most_lanes];
        l.all = &mine;
        return {&l,
                [](void* self, const codec_job& job, codec_work& work) noexcept {
                    static_cast<line*>(self)->submit(job, work);
                },
                [](void* self, codec_work& work) noexcept { return static_cast<line*>(self)->test(work); },
                nullptr};
    }

private:
    /// More wait for no reason: a full queue is worked off.
    static constexpr std::size_t room = 16;

    struct piece {
        codec_job job;
        codec_work* work;
        std::uint64_t ticket;
        encode_result result;
    };
    struct line {
        batch* all = nullptr;
        std::array<piece, room> waiting{};
        std::size_t count = 0;
        bool asked = false;  ///< since anything was begun

        void submit(const codec_job& job, codec_work& work) noexcept
        {
            if (count == room) all->work_off();
            work.ticket = ++all->tickets_;
            waiting[count++] = {job, &work, work.ticket, {}};
            for (line& each : all->lines_) each.asked = false;
        }
        bool test(const codec_work& work) noexcept
        {
            if (work.done()) return true;
            if (std::exchange(asked, true)) all->work_off();
            return work.done();
        }
    };

    void work_off() noexcept
    {
        std::array<line*, most_lanes> busy{};
        std::size_t parts = 0;
        for (line& each : lines_)
            if (each.count > 0) busy[parts++] = &each;
        const auto one_line = [&](std::size_t part) {
            const exact_environment environment;
            line& l = *busy[part];
            for (std::size_t i = 0; i < l.count; ++i) l.waiting[i].result = l.waiting[i].job();
        };
        if (parts == 1) one_line(0);
        else if (parts > 1) Executor{}(parts, one_line);
        for (line& each : lines_) {
            // Work that has been handed in again since is not done yet.
            for (std::size_t i = 0; i < each.count; ++i)
                if (const piece& p = each.waiting[i]; p.work->ticket == p.ticket) *p.work = {p.result, 0};
            each.count = 0;
        }
    }

    std::array<line, most_lanes> lines_{};
    std::uint64_t tickets_ = 0;
};

}  // namespace ccoll::inline CCOLL_ABI::detail

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// backend.hpp - torch.distributed over ccoll: a backend of c10d for tensors on the CPU. Exact, unless
// the options name a bound for a collective.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "notices.hpp"
#include "tensors.hpp"

namespace ccoll_torch {

/// Which collectives may be lossy, from how many bytes on. Tensors of integers are always exact.
struct backend_bounds {
    precision all_reduce, reduce_scatter, all_gather, all_to_all, broadcast;
    /// Of the rank's own tensor; in an all-gather and a reduce-scatter, of a part.
    std::size_t least_bytes = 64 * 1024;
    bool warn = true;  ///< say once why a call is exact although there are bounds

    bool any() const { return all_reduce || reduce_scatter || all_gather || all_to_all || broadcast; }
};

class backend final : public c10d::Backend {
public:
    backend(std::shared_ptr<group> ranks, const backend_bounds& bounds);

    const std::string getBackendName() const override { return "ccoll"; }
    uint64_t getSequenceNumberForGroup() override { return calls_; }
    bool supportsSplitting() const override { return false; }
    c10::intrusive_ptr<Options> getBackendOptions() override { return options_; }
    void setTimeout(std::chrono::milliseconds time) override
    {
        ranks_->set_limit(std::chrono::duration<double>(time).count());
        options_->timeout = time;
    }
    c10d::ErrorType getError() override;
    /// Calls under way go on until they have ended, or their time is over.
    void shutdown() override { ranks_->close(ranks_->limit(), "it was destroyed"); }
    /// Calls under way end with an error.
    void abort() override { ranks_->close(0, "it was aborted"); }

    using tensors = std::vector<at::Tensor>;
    work broadcast(tensors&, const c10d::BroadcastOptions& = {}) override;
    work allreduce(tensors&, const c10d::AllreduceOptions& = {}) override;
    work allreduce_coalesced(tensors&, const c10d::AllreduceCoalescedOptions& = {}) override;
    work reduce(tensors&, const c10d::ReduceOptions& = {}) override;
    work allgather(std::vector<tensors>&, tensors&, const c10d::AllgatherOptions& = {}) override;
    work _allgather_base(at::Tensor&, at::Tensor&, const c10d::AllgatherOptions& = {}) override;
    work allgather_into_tensor_coalesced(tensors&, tensors&, const c10d::AllgatherOptions& = {}) override;
    work gather(std::vector<tensors>&, tensors&, const c10d::GatherOptions& = {}) override;
    work scatter(tensors&, std::vector<tensors>&, const c10d::ScatterOptions& = {}) override;
    work reduce_scatter(tensors&, std::vector<tensors>&, const c10d::ReduceScatterOptions& = {}) override;
    work _reduce_scatter_base(at::Tensor&, at::Tensor&, const c10d::ReduceScatterOptions& = {}) override;
    work reduce_scatter_tensor_coalesced(tensors&, tensors&, const c10d::ReduceScatterOptions& = {}) override;
    work alltoall_base(at::Tensor&, at::Tensor&, std::vector<int64_t>&, std::vector<int64_t>&,
                       const c10d::AllToAllOptions& = {}) override;
    work alltoall(tensors&, tensors&, const c10d::AllToAllOptions& = {}) override;
    work barrier(const c10d::BarrierOptions& = {}) override;
    work send(tensors&, int to, int tag) override;
    work recv(tensors&, int from, int tag) override;
    work recvAnysource(tensors&, int tag) override;

    const std::shared_ptr<group>& ranks() const { return ranks_; }

private:
    work begin(c10d::OpType, std::chrono::milliseconds time, tensors results, begin_function,
               std::function<void()> after = {});
    /// The bound of a call: `wanted`, or none, which then is told with the reason.
    /// @param bytes  nothing if the length does not count
    precision bound_of(const char* call, const precision& wanted, at::ScalarType type,
                       std::optional<std::size_t> bytes, operation what = operation::sum);

    std::shared_ptr<group> ranks_;
    backend_bounds bounds_;
    notices notices_;
    c10::intrusive_ptr<Options> options_;
    uint64_t calls_ = 0;
};

/// Part of FSDP2, which passes its own tensors: `out` has size() parts as long as `in`.
work all_gather(const std::shared_ptr<group>&, at::Tensor out, at::Tensor in, const precision&,
                std::chrono::milliseconds time = {});
/// `in` has size() parts as long as `out`.
work reduce_scatter(const std::shared_ptr<group>&, at::Tensor out, at::Tensor in, const c10d::ReduceOp&,
                    const precision&, std::chrono::milliseconds time = {});

}  // namespace ccoll_torch

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// module.cpp - what Python sees of the extension: ccoll_torch._C. The classes for users are in ccoll_torch/.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include <c10/core/Event.h>
#include <torch/csrc/utils/pybind.h>
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include "averages.hpp"
#include "backend.hpp"
#include "store.hpp"

namespace ccoll_torch {

namespace {

/// The largest magnitude of a vector on a GPU, among those that are finite. The GPU looks for it behind the
/// current stream, and nobody waits.
averages_in_turn::magnitude largest_on_gpu(const at::Tensor& vector)
{
    if (vector.numel() == 0) return [] { return std::optional(0.0); };
    const at::NoGradGuard no_grad;
    const at::Tensor found = vector.abs().nan_to_num_(0, 0, 0).amax().to(at::kDouble);
    const at::Tensor told = at::empty({}, at::TensorOptions(at::kDouble).pinned_memory(true));
    told.copy_(found, true);
    const auto type = vector.device().type();
    const auto copied = std::make_shared<c10::Event>(type);
    copied->record(c10::impl::VirtualGuardImpl(type).getStream(vector.device()));
    return [told, copied] {
        return copied->query() ? std::optional(*told.const_data_ptr<double>()) : std::nullopt;
    };
}

/// The averages of a communication hook, with the memory of error feedback for each bucket.
class averages {
public:
    /// @param ranks, maxima  nothing else uses them
    averages(std::shared_ptr<group> ranks, std::shared_ptr<group> maxima, precision wanted,
             bool with_feedback)
        : ranks_(std::move(ranks)), maxima_(std::move(maxima)), wanted_(std::move(wanted)),
          with_feedback_(with_feedback && wanted_.has_value()), turns_(std::make_shared<averages_in_turn>())
    {
        check(wanted_);
    }

    /// Replaces the elements of `bucket` by their averages over the ranks.
    /// @param key  the same for the same parameters; other parameters begin with an empty memory
    work begin(const at::Tensor& bucket, std::size_t index, std::size_t key)
    {
        const auto type = number_of(bucket.scalar_type());
        const bool dense = bucket.layout() == at::kStrided;
        if (!(bucket.is_cpu() || bucket.is_cuda()) || !dense || !bucket.is_contiguous() || !type ||
            !is_float(*type) || bucket.is_complex()) {
            tell_the_others();
            TORCH_CHECK(false,
                        "ccoll: a bucket of gradients must be a dense tensor, on the CPU or on a GPU of "
                        "CUDA, of float32, float64, float16 or bfloat16, and is ",
                        dense ? "" : "a sparse one of ", bucket.scalar_type(), " on ", bucket.device().str(),
                        dense ? "" : "; make the layer with sparse=False");
        }
        const operand x("an average", bucket, use::computes);
        const vector_of v = x.vector("an average");
        std::shared_ptr<averages_in_turn::memory> memory;
        averages_in_turn::magnitude largest;
        try {
            if (with_feedback_) memory = memory_of(v, index, key);
            if (v.where.gpu >= 0 && averages_in_turn::ask(wanted_, with_feedback_))
                largest = largest_on_gpu(x.dense());
        } catch (...) {  // there is not so much memory
            tell_the_others();
            throw;
        }
        return submit(
            ranks_, {c10d::OpType::ALLREDUCE}, {bucket},
            [x, v, memory, largest, turns = turns_, ranks = ranks_, maxima = maxima_, wanted = wanted_] {
                return turns->begin(v, wanted, memory, largest, {ranks->handle(), maxima->handle()});
            },
            [x] { x.copy_back(); });
    }
    void forget() { kept_.clear(); }
    /// When no average is under way. What was cut off stays.
    void change_group(std::shared_ptr<group> ranks, std::shared_ptr<group> maxima)
    {
        ranks_ = std::move(ranks);
        maxima_ = std::move(maxima);
        turns_ = std::make_shared<averages_in_turn>();
    }
    /// The last average of this bucket failed here, and succeeded on other ranks.
    void assume_success(std::size_t index)
    {
        if (const auto at = kept_.find(index); at != kept_.end()) at->second.memory->assume_success();
    }

private:
    void tell_the_others()
    {
        const auto refuse = [turns = turns_, ranks = ranks_, maxima = maxima_, wanted = wanted_,
                             fed = with_feedback_] {
            return turns->refuse(wanted, fed, {ranks->handle(), maxima->handle()});
        };
        try {
            submit(ranks_, {c10d::OpType::ALLREDUCE}, {}, refuse)->wait();
        } catch (const std::exception&) {  // the others have been told, and this rank throws something better
        }
    }

    struct kept {
        std::shared_ptr<averages_in_turn::memory> memory;
        std::size_t key = 0, n = 0;
        number type = number::f32;
        int gpu = -1;
    };
    std::shared_ptr<averages_in_turn::memory> memory_of(const vector_of& v, std::size_t index,
                                                        std::size_t key)
    {
        kept& of = kept_[index];
        if (of.memory == nullptr || of.key != key || of.n != v.n || of.type != v.type ||
            of.gpu != v.where.gpu)
            of = {averages_in_turn::memory::make(v), key, v.n, v.type, v.where.gpu};
        return of.memory;
    }

    std::shared_ptr<group> ranks_, maxima_;
    precision wanted_;
    bool with_feedback_;
    std::shared_ptr<averages_in_turn> turns_;
    std::map<std::size_t, kept> kept_;
};

std::string bcast(const std::shared_ptr<group>& ranks, std::string text)
{
    const auto from_first = [&](void* data, std::size_t bytes) {
        submit(ranks, {c10d::OpType::BROADCAST}, {}, [=] {
            return begin_bcast({data, bytes, number::u8}, {}, 0, ranks->handle());
        })->wait();
    };
    std::uint64_t length = text.size();
    from_first(&length, sizeof length);
    text.resize(length);
    from_first(text.data(), text.size());
    return text;
}

py::dict facts_of(const group& ranks)
{
    const ccoll::report facts = ranks.facts();
    py::dict d;
    d["raw_bytes"] = facts.raw_bytes;
    d["sent_bytes"] = facts.sent_bytes;
    d["ratio"] = facts.ratio();
    d["worst_case_error"] = facts.worst_case_error;
    d["exact"] = facts.exact;
    d["same_bits"] = facts.same_bits;
    d["fallback_blocks"] = facts.fallback_blocks;
    d["codec"] = std::string(facts.codec);
    d["algorithm"] = std::string(facts.algorithm);
    return d;
}

}  // namespace

// The lock of the interpreter is let go of in everything that waits for the thread: the end of a call may run
// functions of Python there.
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    using release = py::call_guard<py::gil_scoped_release>;
    m.attr("link") = link::name;
    m.attr("works_on_gpus") = moves_on_gpu();
    m.def("library", &link::library);
    m.def("start", &runtime::start, release());
    m.def("started", &runtime::started);
    m.def("stop", &runtime::stop, py::arg("seconds"), release());
    m.def(
        "launched",
        []() -> std::optional<std::pair<int, int>> {
            const auto here = link::launched();
            return here ? std::optional(std::pair(here->rank, here->size)) : std::nullopt;
        },
        "Rank and number of ranks, if the launcher is MPI's.");
    m.def("end_all", &link::end_all, py::arg("code"));
    m.def("bcast", &bcast, py::arg("group"), py::arg("text"), release(), "The text of rank 0.");

    py::class_<bits>(m, "Bits",
                     "So many bits for a value of the largest magnitude of all ranks: the bound is 2^-bits "
                     "times that magnitude.")
        .def(py::init([](int count) {
                 check(bits{count});
                 return bits{count};
             }),
             py::arg("bits"))
        .def_readonly("bits", &bits::count)
        .def("__repr__", [](const bits& b) { return "Bits(" + std::to_string(b.count) + ")"; });
    m.def("check", &check, py::arg("bound").none(true), "Throws ValueError if this is no bound.");

    py::class_<group, std::shared_ptr<group>>(m, "Group")
        .def(py::init([](const std::shared_ptr<group>& whole, std::vector<int> ranks, int rank, int size,
                         const c10::intrusive_ptr<c10d::Store>& store, std::string name, double seconds) {
                 store_exchange how(store);
                 return group::make(whole,
                                    {nullptr, std::move(ranks), rank, size, &how, std::move(name), seconds});
             }),
             py::arg("whole").none(true), py::arg("ranks"), py::arg("rank"), py::arg("size"),
             py::arg("store").none(true), py::arg("name"), py::arg("seconds"), release())
        .def_property_readonly("rank", &group::rank)
        .def_property_readonly("size", &group::size)
        .def("report", &facts_of,
             "What this rank has sent in compressed calls since the beginning or reset().")
        .def("reset", &group::reset)
        .def_property("limit", &group::limit, &group::set_limit, "How long a call may take, in seconds.")
        .def_property_readonly("closed", &group::is_closed)
        .def("close", &group::close, py::arg("seconds"), py::arg("why"),
             "Calls under way may go on for so long. Returns at once.");

    py::class_<averages, std::shared_ptr<averages>>(m, "Averages")
        .def(py::init<std::shared_ptr<group>, std::shared_ptr<group>, precision, bool>(), py::arg("group"),
             py::arg("maxima"), py::arg("bound").none(true), py::arg("feedback"))
        .def("begin", &averages::begin, py::arg("bucket"), py::arg("index"), py::arg("key"), release())
        .def("forget", &averages::forget)
        .def("change_group", &averages::change_group, py::arg("group"), py::arg("maxima"))
        .def("assume_success", &averages::assume_success, py::arg("index"));

    m.def(
        "all_gather",
        [](const std::shared_ptr<group>& ranks, at::Tensor out, at::Tensor in, const precision& wanted) {
            return all_gather(ranks, std::move(out), std::move(in), wanted);
        },
        py::arg("group"), py::arg("output"), py::arg("input"), py::arg("bound").none(true), release());
    m.def(
        "reduce_scatter",
        [](const std::shared_ptr<group>& ranks, at::Tensor out, at::Tensor in, const c10d::ReduceOp& op,
           const precision& wanted) {
            return reduce_scatter(ranks, std::move(out), std::move(in), op, wanted);
        },
        py::arg("group"), py::arg("output"), py::arg("input"), py::arg("op"), py::arg("bound").none(true),
        release());

    m.def(
        "report_of",
        [](const c10::intrusive_ptr<c10d::Backend>& of) {
            const auto* ours = dynamic_cast<const backend*>(of.get());
            TORCH_CHECK(ours != nullptr, "ccoll: a report is asked of a group whose backend is ",
                        of->getBackendName());
            return facts_of(*ours->ranks());
        },
        py::arg("backend"));
    m.def(
        "tell_notices_to", [](notices::teller to) { notices::to() = std::move(to); }, py::arg("function"),
        "Gets a sentence for each reason why a call of a group with bounds is exact.");
    m.def(
        "create_backend",
        [](std::shared_ptr<group> ranks, precision all_reduce, precision reduce_scatter, precision all_gather,
           precision all_to_all, precision broadcast, std::size_t least_bytes,
           bool warn) -> c10::intrusive_ptr<c10d::Backend> {
            for (const precision& each : {all_reduce, reduce_scatter, all_gather, all_to_all, broadcast})
                check(each);
            return c10::make_intrusive<backend>(
                std::move(ranks), backend_bounds{all_reduce, reduce_scatter, all_gather, all_to_all,
                                                 broadcast, least_bytes, warn});
        },
        py::arg("group"), py::arg("all_reduce").none(true), py::arg("reduce_scatter").none(true),
        py::arg("all_gather").none(true), py::arg("all_to_all").none(true), py::arg("broadcast").none(true),
        py::arg("least_bytes"), py::arg("warn"), release());
}

}  // namespace ccoll_torch

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// bucket.hpp - floor 5. Many small tensors as one vector: one message per step where there would be one per
// tensor, and one report.
#pragma once
#if !defined(CCOLL_SHOW_WARNINGS)
#pragma GCC system_header
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <ccoll/allreduce.hpp>
#include <ccoll/rooted.hpp>

namespace ccoll::inline CCOLL_ABI {

namespace detail {

template <class How, class Collective>
struct bucket_form;

/// Where the tensors of a bucket are, and the memory in which they travel. Shared by the bucket and by the
/// request under way.
template <element T>
class fused_tensors {
public:
    void add(std::span<T> tensor)
    {
        all_.push_back(tensor);
        total_ += tensor.size();
        layout_ = mixed(layout_, std::uint64_t{tensor.size()});
    }
    void clear()
    {
        all_.clear();
        total_ = 0;
        layout_ = hash_seed;
    }
    std::size_t tensors() const { return all_.size(); }
    std::size_t total() const { return total_; }
    /// Of the lengths, in order: ranks must have the same.
    std::uint32_t layout() const { return layout_; }

    std::span<T> gather()
    {
        if (room_ < total_) {
            memory_.reset(new T[total_]);
            room_ = total_;
        }
        T* to = memory_.get();
        for (const std::span<T> each : all_) to = std::copy(each.begin(), each.end(), to);
        return {memory_.get(), total_};
    }
    void spread() const
    {
        const T* from = memory_.get();
        for (const std::span<T> each : all_) {
            std::copy_n(from, each.size(), each.begin());
            from += each.size();
        }
    }

    bool under_way = false;

private:
    std::vector<std::span<T>> all_;
    std::unique_ptr<T[]> memory_;
    std::size_t total_ = 0, room_ = 0;
    std::uint32_t layout_ = hash_seed;
};

/// A bucket is under way as long as this lives, or until end().
template <element T>
class bucket_turn {
public:
    bucket_turn(const char* call, std::shared_ptr<fused_tensors<T>> tensors) : tensors_(std::move(tensors))
    {
        if (tensors_->under_way)
            raise(
                call, {status::out_of_turn},
                "the last call with this bucket has not ended; wait for its request, or use another bucket");
        tensors_->under_way = true;
    }
    bucket_turn(bucket_turn&&) noexcept = default;
    ~bucket_turn() { end(); }
    /// From now on the bucket may take its next call.
    void end() noexcept
    {
        if (tensors_ != nullptr) std::exchange(tensors_, nullptr)->under_way = false;
    }
    fused_tensors<T>& tensors() { return *tensors_; }

private:
    std::shared_ptr<fused_tensors<T>> tensors_;
};

/// A call on fused tensors that has begun: spreads the result when it has ended well.
template <element T>
class bucket_call final : public pending_call {
public:
    bucket_call(std::unique_ptr<pending_call> call, bucket_turn<T> turn)
        : turn_(std::move(turn)), call_(std::move(call))
    {
        call_->leave();
    }
    ~bucket_call() override
    {
        leave();
        call_.reset();  // it uses the memory of the turn
    }

    bool advance() override
    {
        if (ended_) return true;
        if (!call_->progress()) return false;
        if (call_->result().trouble.ok()) turn_.tensors().spread();
        end();
        return true;
    }
    bool moved() const override { return call_->moved(); }
    void idle() override { call_->idle(); }
    resting_place rest() override { return call_->rest(); }
    void abandon() override
    {
        call_->abandon();
        end();
    }
    void give_up(const verdict& why) override
    {
        if (ended_) return;
        call_->give_up(why);
        end();
    }
    const outcome& result() const override { return call_->result(); }
    const char* name() const override { return call_->name(); }
    bool may_change_thread() const override { return call_->may_change_thread(); }

private:
    void end()
    {
        ended_ = true;
        turn_.end();
    }

    bucket_turn<T> turn_;
    std::unique_ptr<pending_call> call_;
    bool ended_ = false;
};

}  // namespace detail

/// A list of tensors (contiguous ranges of T, of any lengths, 0 included), which travel together. It refers
/// to them: they must live until the calls with it have ended. The list is kept between calls, and so is the
/// memory in which the tensors are copied together, as many elements as all tensors have. All ranks add
/// tensors of the same lengths in the same order, else the calls raise plan_differs on them (exact calls that
/// are handed to MPI do not compare this). Elements of several types need a bucket each.
template <element T>
class bucket {
public:
    bucket() : tensors_(std::make_shared<detail::fused_tensors<T>>()) {}
    bucket(const bucket&) = delete;
    bucket& operator=(const bucket&) = delete;
    bucket(bucket&&) noexcept = default;
    bucket& operator=(bucket&&) noexcept = default;

    /// @throw ccoll::error  (out_of_turn) while a call with this bucket is under way; so does clear().
    ///                      (strided) if the tensor is a view that says that its elements are not contiguous
    template <buffer Tensor>
        requires(std::is_same_v<buffer_pointee<Tensor>, T> &&
                 std::is_same_v<buffer_space<Tensor>, host_space> && !detail::is_owning_temporary<Tensor>)
    void add(Tensor&& tensor)
    {
        refuse_under_way("bucket::add");
        if (!is_contiguous(tensor)) raise("bucket::add", {status::strided});
        tensors_->add(as_span(tensor));
    }
    void clear()
    {
        refuse_under_way("bucket::clear");
        tensors_->clear();
    }
    std::size_t tensors() const { return tensors_->tensors(); }
    /// Elements of all tensors.
    std::size_t size() const { return tensors_->total(); }

private:
    template <class How, class Collective>
    friend struct detail::bucket_form;

    void refuse_under_way(const char* call) const
    {
        if (tensors_->under_way)
            raise(call, {status::out_of_turn},
                  "a call with this bucket has not ended; wait for its request first");
    }

    std::shared_ptr<detail::fused_tensors<T>> tensors_;
};

namespace detail {

template <class A>
inline constexpr bool is_bucket = false;
template <class T>
inline constexpr bool is_bucket<bucket<T>> = true;
/// Is one of the arguments of a call a bucket? Such calls are overloads of those with buffers, which take any
/// arguments.
template <class... Arguments>
inline constexpr bool is_about_a_bucket = (false || ... || is_bucket<std::remove_cvref_t<Arguments>>);

template <class How, class Collective>
struct bucket_form {
    using result = typename How::result;
    static constexpr form_shape shape = Collective::rooted ? form_shape::rooted_bucket : form_shape::bucket;

    template <class Choice, element T, communicator Comm, class... Extra>
        requires(!Collective::rooted)
    static result call(const Choice& choice, bucket<T>& tensors, const Comm& comm, Extra&&... extra)
    {
        return run(choice, tensors, 0, comm, std::forward<Extra>(extra)...);
    }
    template <class Choice, element T, communicator Comm, class... Extra>
        requires(Collective::rooted)
    static result call(const Choice& choice, bucket<T>& tensors, int root, const Comm& comm, Extra&&... extra)
    {
        return run(choice, tensors, root, comm, std::forward<Extra>(extra)...);
    }

private:
    template <class Choice, class T, class Comm, class... Extra>
    static result run(const Choice& choice, bucket<T>& tensors, int root, const Comm& comm, Extra&&... extra)
    {
        bucket_turn<T> turn(Collective::name, tensors.tensors_);
        fused_tensors<T>& all = turn.tensors();
        std::span<T> whole = all.gather();
        const auto layout = [&](auto& user, std::size_t) {
            user.in_place = true;
            user.layout = all.layout();
        };
        auto done = call_ranges<How, Collective, call_fault::none, std::span<T>&, std::span<T>&>(
            choice, whole, whole, layout, root, comm, std::forward<Extra>(extra)...);
        if constexpr (std::is_same_v<result, report>) {
            if (done.trouble.ok()) all.spread();
            return done;
        } else {
            auto call = std::make_unique<bucket_call<T>>(done.release(), std::move(turn));
            if (!call->progress()) call->join();
            return request(std::move(call));
        }
    }
};

}  // namespace detail

/// allreduce, in place, of all tensors of a bucket. If it fails the tensors are as they were.
///
///   allreduce<P...>(tensors, comm, extra...)
///
/// @param tensors  a ccoll::bucket<T>. While a request is under way, the tensors belong to the library, and
///                 the bucket takes no other call.
/// @return         one report for all: a bound holds for every element, and a RelativeBound refers to the
///                 range of all tensors.
/// Cost: that of an allreduce of as many elements, and two copies of them.
template <class... Policies, class... Arguments>
    requires(detail::is_about_a_bucket<Arguments...>)
report allreduce(Arguments&&... arguments)
{
    return detail::ask<detail::bucket_form<detail::blocking, collective::allreduce>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// The same, begun: see ccoll::request. The tensors have the result when the request has ended.
template <class... Policies, class... Arguments>
    requires(detail::is_about_a_bucket<Arguments...>)
request iallreduce(Arguments&&... arguments)
{
    return detail::ask<detail::bucket_form<detail::nonblocking, collective::allreduce>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// bcast of all tensors of a bucket: bcast<P...>(tensors, root, comm, extra...).
template <class... Policies, class... Arguments>
    requires(detail::is_about_a_bucket<Arguments...>)
report bcast(Arguments&&... arguments)
{
    return detail::ask<detail::bucket_form<detail::blocking, collective::bcast>, Policies...>(
        std::forward<Arguments>(arguments)...);
}
/// The same, begun.
template <class... Policies, class... Arguments>
    requires(detail::is_about_a_bucket<Arguments...>)
request ibcast(Arguments&&... arguments)
{
    return detail::ask<detail::bucket_form<detail::nonblocking, collective::bcast>, Policies...>(
        std::forward<Arguments>(arguments)...);
}

// The parameters, as an IDE shows them (entry/facade.hpp).
CCOLL_SHOWN((auto& tensors), report, allreduce, bound_and_error_code)
CCOLL_SHOWN((auto& tensors), request, iallreduce, bound)
CCOLL_SHOWN((auto& tensors, int root), report, bcast, bound_and_error_code)
CCOLL_SHOWN((auto& tensors, int root), request, ibcast, bound)

}  // namespace ccoll::inline CCOLL_ABI

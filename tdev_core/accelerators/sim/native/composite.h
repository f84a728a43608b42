// Before the Python kernel of an operator that torch takes apart above the device's kernels: the CPU's, whole, with two
// differentiable moves around it, as sim/composites.py says.
//
// Part of native.cpp, the one translation unit.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/custom_function.h>

#include "front.h"

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Not itself an argument that autograd looks for tensors in.
struct Guarded {
  std::vector<at::Tensor> inputs;
};

// A sim tensor with a copy of a CPU tensor: what autograd saved of that tensor stays untouched. The sim tensors that the
// operator has read are saved, so that autograd notices when one was changed in between.
struct ToDevice : public torch::autograd::Function<ToDevice> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& tensor, int64_t index, const Guarded& guarded) {
    context->save_for_backward(guarded.inputs);
    Call call;
    call.index = static_cast<c10::DeviceIndex>(index);
    return call.lift(tensor.detach().clone());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients);
};

// The CPU tensor over a sim tensor's memory.
struct ToHost : public torch::autograd::Function<ToHost> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& tensor) {
    Call call;
    auto alias = call.lower(tensor);
    TORCH_CHECK(alias.defined(), "a tensor that is not simple on the 'sim' device");
    context->saved_data["index"] = static_cast<int64_t>(call.index);
    return alias;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto& gradient = gradients[0];
    const auto index = context->saved_data["index"].toInt();
    // Nobody else has this memory, and no graph will save it: there is nothing to protect by a copy.
    if (!at::GradMode::is_enabled() && gradient.has_storage() && gradient.storage().use_count() == 1) {
      Call call;
      call.index = static_cast<c10::DeviceIndex>(index);
      return {call.lift(gradient)};
    }
    return {ToDevice::apply(gradient, index, Guarded{})};
  }
};

variable_list ToDevice::backward(AutogradContext* context, const variable_list& gradients) {
  context->get_saved_variables();  // raises where one was changed
  return {ToHost::apply(gradients[0]), at::Tensor(), at::Tensor()};
}

class Composite final : public c10::OperatorKernel {
 public:
  // `draws`: the position of the argument that has it draw random numbers; `alone`: without them it is its first argument.
  Composite(const c10::OperatorHandle& operation, Rule rule, size_t draws, bool alone)
      : front_(operation, std::move(rule)),
        count_(operation.schema().arguments().size()),
        draws_(draws),
        alone_(alone),
        usual_(operation.getComputedKernelForDispatchKey(c10::DispatchKey::AutogradPrivateUse1)) {}

  void operator()(const c10::OperatorHandle& operation, c10::DispatchKeySet keys, Stack* stack) const {
    if (!ready || !enabled.load(std::memory_order_relaxed) || is_seen() || !answer(operation, *stack)) {
      usual_.callBoxed(operation, keys, stack);
      ready = true;
    }
  }

 private:
  // Whether a transform, a dispatch mode or a subclass is to see the operators that this one consists of.
  static bool is_seen() {
    return c10::impl::TorchDispatchModeTLS::any_modes_set() ||
        c10::impl::tls_is_dispatch_key_included(c10::DispatchKey::FuncTorchDynamicLayerFrontMode);
  }

  bool answer(const c10::OperatorHandle& operation, Stack& stack) const {
    const auto given = torch::jit::last(stack, count_);
    const bool trains = !alone_ || given[count_ - 1].toBool();
    if (trains && given[draws_].toDouble() != 0.0) {
      return false;
    }
    bool differentiable = false;
    Call call;
    for (const auto& value : given) {
      if (!value.isTensor() || !value.toTensor().defined()) {
        continue;
      }
      const auto& tensor = value.toTensor();
      if (!tensor.is_privateuseone() || !call.lower(tensor).defined()) {
        return false;
      }
      differentiable = differentiable || tensor.requires_grad();
    }
    if (alone_) {
      auto same = given[0];
      torch::jit::drop(stack, count_);
      stack.push_back(std::move(same));
      return true;
    }
    if (!differentiable || !at::GradMode::is_enabled()) {
      return front_.answer(operation, stack);
    }
    differentiate(operation, stack, call);
    return true;
  }

  void differentiate(const c10::OperatorHandle& operation, Stack& stack, const Call& call) const {
    Guarded guarded;
    std::vector<at::Tensor> hosts;
    for (const auto& pair : call.pairs) {
      guarded.inputs.push_back(pair.ours);
      hosts.push_back(pair.ours.requires_grad() ? ToHost::apply(pair.ours) : pair.alias);
    }
    Stack lowered;
    for (const auto& value : torch::jit::last(stack, count_)) {
      lowered.push_back(value);
      for (size_t i = 0; value.isTensor() && i < hosts.size(); ++i) {
        if (call.pairs[i].ours.is_same(value.toTensor())) {
          lowered.back() = hosts[i];
        }
      }
    }
    operation.callBoxed(lowered);
    torch::jit::drop(stack, count_);
    stack.emplace_back(ToDevice::apply(lowered[0].toTensor(), int64_t(call.index), guarded));
    answered.fetch_add(1, std::memory_order_relaxed);
  }

  Front front_;
  size_t count_;
  size_t draws_;
  bool alone_;
  c10::SafeKernelFunction usual_;
};

}  // namespace

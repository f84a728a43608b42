// Before the Python kernel of one operator: the CPU's operator, over the same memory.
//
// The steps are those of sim/fallback.py. Whatever is not simple (a tensor elsewhere, another layout, a generator, a copy
// between host and device, an error) is left to the Python kernel, and so is everything while somebody listens to operators:
// faults, refusals, a trace. Part of native.cpp, the one translation unit.

#pragma once

#include <Python.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Context.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <c10/util/SmallVector.h>
#include <pybind11/pybind11.h>
#include <torch/csrc/autograd/python_variable.h>

#include "storages.h"

namespace py = pybind11;

namespace {

using torch::jit::Stack;

constexpr auto kDevice = c10::DispatchKey::PrivateUse1;

std::atomic<bool> enabled{true};
std::atomic<int64_t> answered{0};
thread_local bool ready = false;  // the Python kernels have prepared this thread for backward passes
PyObject* adopt_tensor = nullptr;  // aliasing.adopt_tensor: raises where the device has no room, or no such tensors
PyObject* give_back = nullptr;     // lowering.give_back: a written tensor follows the host's

// What Python knows of an operator; see `Rule` in native/__init__.py.
struct Rule {
  bool scalars;           // tensors of the CPU without dimensions may be mixed in
  std::vector<bool> any;  // by argument: may lie on another device
  bool refuses_masks;     // an index that is a mask, or lies on the CPU, waits for the device
  bool alerts = false;    // CUDA refuses it where the program asks for deterministic algorithms
};

// One call's sim tensors, each with the CPU tensor over its memory.
class Call {
 public:
  struct Pair {
    at::Tensor ours;
    at::Tensor alias;
    Storage* host;
  };

  c10::SmallVector<Pair, 4> pairs;
  c10::DeviceIndex index = -1;

  // The alias of `ours`; undefined where Python has to look at it.
  at::Tensor lower(const at::Tensor& ours) {
    const auto* impl = ours.unsafeGetTensorImpl();
    if (impl->layout() != c10::kStrided || impl->has_symbolic_sizes_strides() || !ours.has_storage() ||
        ours.key_set().has_any(kUnusual)) {
      return {};
    }
    const auto where = ours.device().index();
    if (index < 0) {
      index = where;
    } else if (where != index) {
      return {};
    }
    if (pairs.size() < kCompared) {  // x.add_(x) has one argument twice
      for (const auto& pair : pairs) {
        if (pair.ours.is_same(ours)) {
          return pair.alias;
        }
      }
    }
    const auto& storage = *ours.storage().unsafeGetStorageImpl();
    Storage* host = host_of(storage);
    if (host == nullptr || host->nbytes() != storage.nbytes() || !fits(ours, host->nbytes())) {
      return {};
    }
    auto alias = tensor_over(shared(host), ours, c10::DispatchKey::CPU);
    pairs.push_back({ours, alias, host});
    return alias;
  }

  // What the caller gets for a result: its argument, a view of an argument's memory, or a new tensor.
  at::Tensor lift(const at::Tensor& result) const {
    if (!result.defined() || !result.is_cpu()) {
      return result;
    }
    const bool simple = result.layout() == c10::kStrided && !result.key_set().has_any(kUnusual) &&
        !result.is_quantized() && result.has_storage();
    if (!simple) {
      return by_python(result);
    }
    const auto& storage = result.storage();
    auto* host = storage.unsafeGetStorageImpl();
    if (storage.use_count() > 1) {
      for (const auto& pair : pairs) {
        if (pair.alias.is_same(result)) {
          return pair.ours;
        }
      }
      for (const auto& pair : pairs) {
        if (pair.host == host) {
          const auto& theirs = pair.ours.storage();
          return tensor_over(shared(theirs), result, kDevice);
        }
      }
      if (counted(*host) == nullptr) {  // a constant that is kept, or two results over one storage
        return by_python(result);
      }
    }
    auto adopted = adopt(shared(storage), index);
    return adopted ? tensor_over(std::move(adopted), result, kDevice) : by_python(result);
  }

  // Give written tensors the shape that the CPU's operator gave their aliases.
  void write_back() const {
    for (const auto& pair : pairs) {
      const auto& storage = *pair.ours.storage().unsafeGetStorageImpl();
      const bool same = pair.alias.storage().unsafeGetStorageImpl() == pair.host &&
          pair.host->nbytes() == storage.nbytes() && pair.host->data() == storage.data() &&
          pair.ours.sizes() == pair.alias.sizes() && pair.ours.strides() == pair.alias.strides() &&
          pair.ours.storage_offset() == pair.alias.storage_offset() &&
          pair.ours.is_conj() == pair.alias.is_conj() && pair.ours.is_neg() == pair.alias.is_neg();
      if (!same) {
        const py::gil_scoped_acquire gil;
        const auto tensor = py::reinterpret_steal<py::object>(THPVariable_Wrap(pair.ours));
        const auto alias = py::reinterpret_steal<py::object>(THPVariable_Wrap(pair.alias));
        py::handle{give_back}(tensor, alias);
      }
    }
  }

 private:
  static constexpr size_t kCompared = 8;
  // Fake and traced tensors, subclasses, zeros without memory, nested ones.
  static inline const c10::DispatchKeySet kUnusual{
      c10::DispatchKey::Python, c10::DispatchKey::ZeroTensor, c10::DispatchKey::Functionalize,
      c10::DispatchKey::NestedTensor};

  static bool fits(const at::Tensor& t, size_t nbytes) {
    return t.numel() == 0 ||
        at::detail::computeStorageNbytes(t.sizes(), t.strides(), t.itemsize(), t.storage_offset()) <= nbytes;
  }

  at::Tensor by_python(const at::Tensor& result) const {
    const py::gil_scoped_acquire gil;
    const auto tensor = py::reinterpret_steal<py::object>(THPVariable_Wrap(result));
    const py::object adopted = py::handle{adopt_tensor}(tensor, index);
    return THPVariable_Unpack(adopted.ptr());
  }
};

class Front final : public c10::OperatorKernel {
 public:
  Front(const c10::OperatorHandle& operation, Rule rule)
      : rule_(std::move(rule)), usual_(operation.getComputedKernelForDispatchKey(kDevice)) {
    const auto& schema = operation.schema();
    for (const auto& argument : schema.arguments()) {
      const auto* alias = argument.alias_info();
      const bool is_written = alias != nullptr && alias->isWrite();
      written_.push_back(is_written);
      writes_ = writes_ || is_written;
    }
    for (const auto& value : schema.returns()) {
      int named = -1;
      const auto* alias = value.alias_info();
      if (alias != nullptr && alias->isWrite()) {
        for (size_t i = 0; i < schema.arguments().size(); ++i) {
          const auto* given = schema.arguments()[i].alias_info();
          if (given != nullptr && given->isWrite() && given->beforeSets() == alias->beforeSets()) {
            named = static_cast<int>(i);
            break;
          }
        }
      }
      returned_.push_back(named);
    }
  }

  void operator()(const c10::OperatorHandle& operation, c10::DispatchKeySet keys, Stack* stack) const {
    if (!ready || !enabled.load(std::memory_order_relaxed) || !answer(operation, *stack)) {
      usual_.callBoxed(operation, keys, stack);
      ready = true;
    }
  }

  // Whether the call was simple: then its results are on the stack.
  bool answer(const c10::OperatorHandle& operation, Stack& stack) const {
    if (rule_.alerts && at::globalContext().deterministicAlgorithms()) {
      return false;
    }
    const auto count = written_.size();
    const auto given = torch::jit::last(stack, count);
    Call call;
    Stack lowered;
    lowered.reserve(std::max(count, returned_.size()));
    for (size_t i = 0; i < count; ++i) {
      if (!lower(call, given[i], i, lowered)) {
        return false;
      }
    }
    for (size_t i = 0; i < count; ++i) {
      if (lowered[i].isDevice() && !here(call, lowered[i].toDevice())) {
        return false;
      }
      if (lowered[i].isDevice()) {
        lowered[i] = c10::Device(c10::DeviceType::CPU);
      }
    }
    if (call.index < 0) {
      return false;
    }
    try {
      operation.callBoxed(lowered);
    } catch (const c10::Error&) {
      if (writes_) {  // not a second time over what was written
        throw;
      }
      return false;
    }
    if (writes_) {
      call.write_back();
    }
    Stack results;
    results.reserve(returned_.size());
    for (size_t i = 0; i < returned_.size(); ++i) {
      results.push_back(returned_[i] < 0 ? lift(call, lowered[i]) : given[returned_[i]]);
    }
    torch::jit::drop(stack, count);
    for (auto& result : results) {
      stack.push_back(std::move(result));
    }
    answered.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

 private:
  // Whether a result that is asked for on `device` lies where the arguments do, or there are none.
  static bool here(Call& call, c10::Device device) {
    if (!device.is_privateuseone() || (!device.has_index() && pools.size() > 1)) {
      return false;  // the current device is Python's to know
    }
    const auto index = device.has_index() ? device.index() : c10::DeviceIndex(0);
    if (call.index < 0 && index < static_cast<c10::DeviceIndex>(pools.size())) {
      call.index = index;
    }
    return call.index == index;
  }

  // Puts what the CPU's operator is given for `value`; false where Python has to look at it.
  bool lower(Call& call, const c10::IValue& value, size_t i, Stack& lowered) const {
    if (value.isTensor()) {
      auto tensor = one(call, value.toTensor(), i);
      if (!tensor) {
        return false;
      }
      lowered.emplace_back(std::move(*tensor));
      return true;
    }
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& item : value.toTensorVector()) {
        auto tensor = one(call, item, i);
        if (!tensor) {
          return false;
        }
        list.push_back(std::move(*tensor));
      }
      lowered.emplace_back(std::move(list));
      return true;
    }
    if (holds_tensors(value)) {
      c10::List<std::optional<at::Tensor>> list;
      for (const c10::IValue& item : value.toListRef()) {
        if (!item.isTensor() || !item.toTensor().defined()) {
          list.push_back(std::nullopt);
          continue;
        }
        const auto& index = item.toTensor();
        const auto kind = index.scalar_type();
        if (rule_.refuses_masks && (kind == at::kBool || kind == at::kByte || !index.is_privateuseone())) {
          return false;
        }
        auto tensor = one(call, index, i);
        if (!tensor) {
          return false;
        }
        list.push_back(std::move(*tensor));
      }
      lowered.emplace_back(std::move(list));
      return true;
    }
    if (value.isGenerator() || value.isStorage() || value.isStream() || value.isSymInt() || value.isSymIntList()) {
      return false;
    }
    lowered.push_back(value);
    return true;
  }

  // Whether this is a list of tensors that may be absent. TorchScript's have a type of their own, which
  // `isOptionalTensorList` does not know.
  static bool holds_tensors(const c10::IValue& value) {
    if (!value.isList()) {
      return false;
    }
    const auto items = value.toListRef();
    return std::any_of(items.begin(), items.end(), [](const c10::IValue& item) { return item.isTensor(); });
  }

  std::optional<at::Tensor> one(Call& call, const at::Tensor& tensor, size_t i) const {
    if (!tensor.defined()) {
      return tensor;
    }
    if (!tensor.is_privateuseone()) {
      const bool allowed =
          rule_.any[i] || (rule_.scalars && tensor.is_cpu() && tensor.dim() == 0 && !written_[i]);
      return allowed ? std::optional(tensor) : std::nullopt;
    }
    auto alias = call.lower(tensor);
    return alias.defined() ? std::optional(std::move(alias)) : std::nullopt;
  }

  static c10::IValue lift(const Call& call, const c10::IValue& value) {
    if (value.isTensor()) {
      return call.lift(value.toTensor());
    }
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& item : value.toTensorVector()) {
        list.push_back(call.lift(item));
      }
      return list;
    }
    return value;
  }

  Rule rule_;
  c10::SafeKernelFunction usual_;
  std::vector<bool> written_;  // by argument
  bool writes_ = false;
  std::vector<int> returned_;  // by result: the argument that it is, or -1
};

// A view operator, answered by what torch has for the CPU: it computes strides and reads no data.
class View final : public c10::OperatorKernel {
 public:
  explicit View(const c10::OperatorHandle& operation)
      : usual_(operation.getComputedKernelForDispatchKey(kDevice)),
        kernel_(operation.getComputedKernelForDispatchKey(c10::DispatchKey::CPU)) {}

  void operator()(const c10::OperatorHandle& operation, c10::DispatchKeySet keys, Stack* stack) const {
    if (ready && enabled.load(std::memory_order_relaxed)) {
      kernel_.callBoxed(operation, keys, stack);
      answered.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    usual_.callBoxed(operation, keys, stack);
    ready = true;
  }

 private:
  c10::SafeKernelFunction usual_;
  c10::SafeKernelFunction kernel_;
};

}  // namespace

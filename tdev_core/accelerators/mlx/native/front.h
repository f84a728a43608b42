// Before the Python kernel of one operator: calls it, or what stands for it, over the arrays of simple arguments.
//
// Part of native.cpp, the one translation unit.

#pragma once

#include <optional>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/SmallVector.h>
#include <pybind11/pybind11.h>

#include "values.h"

namespace {

using torch::jit::Stack;

bool enabled = true;
int64_t answered = 0;

class Front final : public c10::OperatorKernel {
 public:
  Front(const c10::OperatorHandle& operation, const py::object& kernel, const py::object& float32, bool in_place)
      : kernel_(kernel.inc_ref().ptr()),
        float32_(float32.is_none() ? nullptr : float32.inc_ref().ptr()),
        in_place_(in_place),
        results_(operation.schema().returns().size()),
        usual_(operation.getComputedKernelForDispatchKey(kDevice)) {
    for (const auto& argument : operation.schema().arguments()) {
      const auto type = argument.real_type();
      const auto plain = type->kind() == c10::TypeKind::OptionalType
          ? type->castRaw<c10::OptionalType>()->getElementType()
          : type;
      PyObject* name = argument.kwarg_only() ? PyUnicode_InternFromString(argument.name().c_str()) : nullptr;
      fields_.push_back({plain->kind(), name, argument.default_value()});
    }
  }

  void operator()(const c10::OperatorHandle& operation, c10::DispatchKeySet keys, Stack* stack) const {
    if (!enabled || !answer(*stack)) {
      usual_.callBoxed(operation, keys, stack);
    }
  }

 private:
  struct Field {
    c10::TypeKind kind;
    PyObject* name;  // of an argument that is given by name; else null
    std::optional<c10::IValue> otherwise;

    bool is_default(const c10::IValue& value) const {
      return otherwise.has_value() && !value.isTensor() && *otherwise == value;
    }
  };

  using Given = at::ArrayRef<c10::IValue>;

  struct Call {
    c10::SmallVector<py::object, 6> values;
    c10::SmallVector<PyObject*, 2> names;  // of the last of them
  };

  bool answer(Stack& stack) const {
    py::gil_scoped_acquire gil;
    if (!stolen(PyObject_GetAttr(runtime->local, runtime->adopted_name))) {
      forget_error();
      return false;
    }
    const auto given = torch::jit::last(stack, fields_.size());
    const bool short_way = float32_ != nullptr && PyDict_GET_SIZE(runtime->below) == 0 && is_float32(given);
    Call call;
    if (!collect(given, short_way ? Numbers::kAsFloats : Numbers::kAsTheyAre, call)) {
      return false;
    }
    py::object result = made(short_way ? float32_ : kernel_, call);
    if (!result) {
      forget_error();
      return false;
    }
    c10::SmallVector<at::Tensor, 2> outs;
    if (in_place_) {
      at::Tensor self = given[0].toTensor();
      if (!store(self, result.ptr(), short_way)) {
        return false;
      }
      outs.push_back(std::move(self));
    } else if (!tensors_of(result.ptr(), short_way, outs)) {
      return false;
    }
    torch::jit::drop(stack, fields_.size());
    for (auto& out : outs) {
      stack.emplace_back(std::move(out));
    }
    ++answered;
    return true;
  }

  static py::object made(PyObject* function, const Call& call) {
    c10::SmallVector<PyObject*, 6> raw;
    for (const auto& value : call.values) {
      raw.push_back(value.ptr());
    }
    if (call.names.empty()) {
      return stolen(PyObject_Vectorcall(function, raw.data(), raw.size(), nullptr));
    }
    py::tuple names(call.names.size());
    for (size_t i = 0; i < call.names.size(); ++i) {
      names[i] = borrowed(call.names[i]);
    }
    return stolen(PyObject_Vectorcall(function, raw.data(), raw.size() - call.names.size(), names.ptr()));
  }

  // Whether every operand is float32, or a number beside it, and nothing is asked for by name.
  bool is_float32(Given given) const {
    for (size_t i = 0; i < given.size(); ++i) {
      const auto& value = given[i];
      const auto& field = fields_[i];
      if (field.name != nullptr && !field.is_default(value)) {
        return false;
      }
      if (field.kind == c10::TypeKind::NumberType && !value.isDouble() && !value.isInt()) {
        return false;
      }
      if (value.isTensor() && !is_float32(value.toTensor())) {
        return false;
      }
      if (value.isTensorList()) {
        for (const at::Tensor& t : value.toTensorList()) {
          if (!is_float32(t)) {
            return false;
          }
        }
      }
    }
    return true;
  }

  static bool is_float32(const at::Tensor& t) {
    return t.defined() &&
        (t.scalar_type() == at::kFloat ||
         (is_wrapped_number(t) && (t.scalar_type() == at::kDouble || t.scalar_type() == at::kLong)));
  }

  // The arguments of the function; false where Python has to look at them.
  bool collect(Given given, Numbers numbers, Call& call) const {
    size_t positional = 0;
    while (positional < fields_.size() && fields_[positional].name == nullptr) {
      ++positional;
    }
    const size_t named = positional;
    while (positional > 0 && fields_[positional - 1].is_default(given[positional - 1])) {
      --positional;
    }
    for (size_t i = 0; i < fields_.size(); ++i) {
      const auto& field = fields_[i];
      if (i < named ? i >= positional : field.is_default(given[i])) {
        continue;
      }
      py::object value = in_place_ && i == 0 ? destination(given[0]) : python(field.kind, given[i], numbers);
      if (!value) {
        return false;
      }
      call.values.push_back(std::move(value));
      if (field.name != nullptr) {
        call.names.push_back(field.name);
      }
    }
    return true;
  }

  // The array of a tensor that fills its storage, so that another array can take its place.
  static py::object destination(const c10::IValue& value) {
    const auto& t = value.toTensor();
    return t.is_conj() || t.is_neg() ? py::object() : held(t);
  }

  static bool store(const at::Tensor& self, PyObject* result, bool short_way) {
    c10::SmallVector<int64_t, 6> sizes;
    if (Py_TYPE(result) != reinterpret_cast<PyTypeObject*>(runtime->array) || !shape_of(result, sizes) ||
        self.sizes() != at::IntArrayRef(sizes) || (!short_way && dtype_of(result) != self.scalar_type())) {
      forget_error();
      return false;
    }
    py::object storage = checked(THPStorage_Wrap(self.storage()));
    if (PyObject_SetAttr(storage.ptr(), runtime->array_name, result) != 0) {
      throw py::error_already_set();
    }
    remember(result);
    return true;
  }

  // Tensors for the one array of a result, or for each of its arrays; false where it is anything else.
  bool tensors_of(PyObject* result, bool short_way, c10::SmallVectorImpl<at::Tensor>& outs) const {
    if (Py_TYPE(result) == reinterpret_cast<PyTypeObject*>(runtime->array)) {
      const auto dtype = short_way ? std::optional(at::kFloat) : dtype_of(result);
      if (results_ != 1 || !dtype) {
        return false;
      }
      outs.push_back(wrap(result, *dtype));
      return true;
    }
    if (!PyTuple_Check(result) || PyTuple_GET_SIZE(result) != static_cast<Py_ssize_t>(results_)) {
      return false;
    }
    for (size_t i = 0; i < results_; ++i) {
      PyObject* item = PyTuple_GET_ITEM(result, i);
      if (Py_TYPE(item) != reinterpret_cast<PyTypeObject*>(runtime->array)) {
        return false;
      }
      const auto dtype = dtype_of(item);
      if (!dtype) {
        return false;
      }
      outs.push_back(wrap(item, *dtype));
    }
    return true;
  }

  static py::object python(c10::TypeKind kind, const c10::IValue& value, Numbers numbers) {
    if (value.isNone()) {
      return py::none();
    }
    switch (kind) {
      case c10::TypeKind::TensorType:
        return value.isTensor() ? operand(value.toTensor(), numbers) : py::object();
      case c10::TypeKind::NumberType:
        return value.isScalar() ? number(value.toScalar(), numbers) : py::object();
      case c10::TypeKind::IntType:
      case c10::TypeKind::SymIntType:
        return value.isInt() ? stolen(PyLong_FromLongLong(value.toInt())) : py::object();
      case c10::TypeKind::FloatType:
        return value.isDouble() ? stolen(PyFloat_FromDouble(value.toDouble())) : py::object();
      case c10::TypeKind::BoolType:
        return value.isBool() ? borrowed(value.toBool() ? Py_True : Py_False) : py::object();
      case c10::TypeKind::StringType:
        return value.isString() ? py::str(value.toStringRef()) : py::object();
      case c10::TypeKind::ListType:
        return list(value, numbers);
      default:  // element types, devices, memory formats, generators: Python has them as other objects
        return {};
    }
  }

  static py::object list(const c10::IValue& value, Numbers numbers) {
    py::list list;
    if (value.isTensorList()) {
      for (const at::Tensor& t : value.toTensorList()) {
        py::object array = operand(t, numbers);
        if (!array) {
          return {};
        }
        list.append(std::move(array));
      }
    } else if (value.isIntList()) {
      for (const int64_t n : value.toIntList()) {
        list.append(stolen(PyLong_FromLongLong(n)));
      }
    } else if (value.isBoolList()) {
      for (const bool b : value.toBoolList()) {
        list.append(borrowed(b ? Py_True : Py_False));
      }
    } else {
      return {};
    }
    return list;
  }

  PyObject* kernel_;   // over arrays of any type
  PyObject* float32_;  // what it comes to where all of them are float32; may be null. Neither is ever given back
  bool in_place_;
  size_t results_;
  c10::SafeKernelFunction usual_;
  std::vector<Field> fields_;
};

}  // namespace

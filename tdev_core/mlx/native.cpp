// What stands before the Python kernels of device `mlx`: the calls that most programs make most often.
//
// A kernel of the operator table is a Python function, and torch's way to it costs more than MLX's own call does.
// Operators whose row says what MLX calls for float32 (`Row.float32`) are answered here instead: the arrays are
// taken from the storages, the function of `mlx.core` is called with them, and its result becomes a tensor.
// View operators need no Python either; torch's own kernels compute strides for any device.
//
// Nothing is decided here that Python does not decide too. Whatever is not that simple, and whatever goes wrong, is
// left to the Python kernel, which `Dispatcher` finds where it was registered before. The invariants of storages are
// those of storage.py.

#include <Python.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/SmallVector.h>
#include <pybind11/pybind11.h>
#include <torch/csrc/Storage.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/library.h>

namespace py = pybind11;

namespace {

using torch::jit::Stack;

constexpr auto kDevice = c10::DispatchKey::PrivateUse1;

// Made once and never given back: kernels may be called until the interpreter has ended.
struct Runtime {
  PyObject* local;    // runtime._local: `adopted` where the thread has MLX's stream, `pending` results
  PyObject* below;    // layout.below: not empty while an array is kept channels last
  PyObject* read;     // storage.read: the array of any tensor
  PyObject* drain;    // runtime.drain
  Py_ssize_t limit;   // runtime.PENDING_LIMIT
  PyObject* array_name;
  PyObject* shape_name;
  PyObject* adopted_name;
  PyObject* pending_name;
  torch::Library* library;
};

Runtime* runtime = nullptr;
bool enabled = true;
int64_t answered = 0;
// Like allocation.py's: a distinct number for each storage, where nothing is; these begin where those never come.
uintptr_t next_address = (uintptr_t(1) << 46) + (uintptr_t(1) << 45);

py::object stolen(PyObject* object) {
  return py::reinterpret_steal<py::object>(object);
}

py::object borrowed(PyObject* object) {
  return py::reinterpret_borrow<py::object>(object);
}

// `object`, or the error that Python has set as an exception.
py::object checked(PyObject* object) {
  if (object == nullptr) {
    throw py::error_already_set();
  }
  return stolen(object);
}

// Forgets an error for which the Python kernel will find a better answer. Ctrl-C is none of those.
void forget_error() {
  if (PyErr_Occurred() == nullptr) {
    return;
  }
  if (!PyErr_ExceptionMatches(PyExc_Exception)) {
    throw py::error_already_set();
  }
  PyErr_Clear();
}

bool shape_of(PyObject* array, c10::SmallVectorImpl<int64_t>& sizes) {
  py::object shape = stolen(PyObject_GetAttr(array, runtime->shape_name));
  if (!shape || !PyTuple_CheckExact(shape.ptr())) {
    return false;
  }
  const Py_ssize_t n = PyTuple_GET_SIZE(shape.ptr());
  for (Py_ssize_t i = 0; i < n; ++i) {
    sizes.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(shape.ptr(), i)));
  }
  return true;
}

// The array that the storage of a contiguous float32 tensor holds, if it has the tensor's own shape; else nothing.
py::object held(const at::Tensor& t) {
  if (!t.is_privateuseone() || !t.is_contiguous()) {
    return {};
  }
  py::object storage = checked(THPStorage_Wrap(t.storage()));
  py::object array = stolen(PyObject_GetAttr(storage.ptr(), runtime->array_name));
  c10::SmallVector<int64_t, 6> sizes;
  if (!array || !shape_of(array.ptr(), sizes) || t.sizes() != at::IntArrayRef(sizes)) {
    forget_error();
    return {};
  }
  return array;
}

bool is_plain_float(const at::Tensor& t) {
  return t.defined() && t.scalar_type() == at::kFloat && !t.is_neg();
}

// What MLX's function is given for a tensor; nothing where Python has to look at it.
py::object operand(const at::Tensor& t) {
  if (t.defined() && t.unsafeGetTensorImpl()->is_wrapped_number() && t.device().is_cpu()) {
    // `x * 2`: torch wraps the number, which takes x's element type.
    const auto kind = t.scalar_type();
    if (kind == at::kDouble || kind == at::kLong) {
      return stolen(PyFloat_FromDouble(t.item().toDouble()));
    }
    return {};
  }
  if (!is_plain_float(t)) {
    return {};
  }
  if (py::object array = held(t)) {
    return array;
  }
  py::object tensor = checked(THPVariable_Wrap(t));
  py::object array = stolen(PyObject_CallOneArg(runtime->read, tensor.ptr()));
  forget_error();
  return array;
}

void remember(PyObject* array) {
  py::object pending = checked(PyObject_GetAttr(runtime->local, runtime->pending_name));
  py::object reference = checked(PyWeakref_NewRef(array, nullptr));
  if (PyList_Append(pending.ptr(), reference.ptr()) != 0) {
    throw py::error_already_set();
  }
  if (PyList_GET_SIZE(pending.ptr()) > runtime->limit) {
    checked(PyObject_CallNoArgs(runtime->drain));
  }
}

// A new contiguous float32 tensor that holds `array`.
at::Tensor wrap(PyObject* array) {
  c10::SmallVector<int64_t, 6> sizes;
  if (!shape_of(array, sizes)) {
    throw py::error_already_set();
  }
  const auto bytes = c10::multiply_integers(sizes) * static_cast<int64_t>(sizeof(float));
  next_address += 64;
  c10::Storage storage(c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(),
      bytes,
      c10::DataPtr(reinterpret_cast<void*>(next_address), c10::Device(c10::DeviceType::PrivateUse1, 0)),
      /*allocator=*/nullptr,
      /*resizable=*/false));
  py::object object = checked(THPStorage_Wrap(storage));
  if (PyObject_SetAttr(object.ptr(), runtime->array_name, array) != 0) {
    throw py::error_already_set();
  }
  auto t = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(kDevice), caffe2::TypeMeta::Make<float>());
  t.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  remember(array);
  return t;
}

// Before the Python kernel of one operator.
class Front final : public c10::OperatorKernel {
 public:
  Front(const c10::OperatorHandle& operation, PyObject* function, bool in_place)
      : function_(function),
        in_place_(in_place),
        usual_(operation.getComputedKernelForDispatchKey(kDevice)) {
    Py_INCREF(function);
    for (const auto& argument : operation.schema().arguments()) {
      const auto type = argument.real_type();
      const auto& plain = type->kind() == c10::TypeKind::OptionalType
          ? type->castRaw<c10::OptionalType>()->getElementType()
          : type;
      fields_.push_back({plain->kind(), argument.kwarg_only(), argument.default_value()});
    }
  }

  void operator()(const c10::OperatorHandle& operation, c10::DispatchKeySet keys, Stack* stack) {
    if (!enabled || !answer(*stack)) {
      usual_.callBoxed(operation, keys, stack);
    }
  }

 private:
  struct Field {
    c10::TypeKind kind;
    bool named;
    std::optional<c10::IValue> otherwise;

    bool is_default(const c10::IValue& value) const {
      return otherwise.has_value() && !value.isTensor() && *otherwise == value;
    }
  };

  using Values = c10::SmallVector<py::object, 4>;

  bool answer(Stack& stack) const {
    py::gil_scoped_acquire gil;
    if (PyDict_GET_SIZE(runtime->below) != 0) {
      return false;
    }
    if (!stolen(PyObject_GetAttr(runtime->local, runtime->adopted_name))) {
      forget_error();
      return false;
    }
    const auto given = torch::jit::last(stack, fields_.size());
    Values values;
    if (!collect(given, values)) {
      return false;
    }
    c10::SmallVector<PyObject*, 4> raw;
    for (const auto& value : values) {
      raw.push_back(value.ptr());
    }
    py::object result = stolen(PyObject_Vectorcall(function_, raw.data(), raw.size(), nullptr));
    if (!result) {
      forget_error();
      return false;
    }
    at::Tensor out;
    if (in_place_) {
      out = given[0].toTensor();
      c10::SmallVector<int64_t, 6> sizes;
      if (!shape_of(result.ptr(), sizes) || out.sizes() != at::IntArrayRef(sizes)) {
        forget_error();
        return false;
      }
      py::object storage = checked(THPStorage_Wrap(out.storage()));
      if (PyObject_SetAttr(storage.ptr(), runtime->array_name, result.ptr()) != 0) {
        throw py::error_already_set();
      }
      remember(result.ptr());
    } else {
      out = wrap(result.ptr());
    }
    torch::jit::drop(stack, fields_.size());
    stack.emplace_back(std::move(out));
    ++answered;
    return true;
  }

  // The arguments of MLX's function; false where Python has to look at them.
  bool collect(at::ArrayRef<c10::IValue> given, Values& values) const {
    size_t positional = 0;
    for (size_t i = 0; i < fields_.size(); ++i) {
      if (!fields_[i].named) {
        positional = i + 1;
      } else if (!fields_[i].is_default(given[i])) {
        return false;
      }
    }
    while (positional > 0 && fields_[positional - 1].is_default(given[positional - 1])) {
      --positional;
    }
    for (size_t i = 0; i < positional; ++i) {
      py::object value = in_place_ && i == 0 ? destination(given[0]) : python(fields_[i].kind, given[i]);
      if (!value) {
        return false;
      }
      values.push_back(std::move(value));
    }
    return true;
  }

  // The array of a tensor that fills its storage, so that another array can take its place.
  static py::object destination(const c10::IValue& value) {
    const auto& t = value.toTensor();
    return is_plain_float(t) ? held(t) : py::object();
  }

  static py::object python(c10::TypeKind kind, const c10::IValue& value) {
    switch (kind) {
      case c10::TypeKind::TensorType:
        return value.isTensor() ? operand(value.toTensor()) : value.isNone() ? py::none() : py::object();
      case c10::TypeKind::NumberType:
        if (value.isDouble()) {
          return stolen(PyFloat_FromDouble(value.toDouble()));
        }
        return value.isInt() ? stolen(PyFloat_FromDouble(static_cast<double>(value.toInt()))) : py::object();
      case c10::TypeKind::IntType:
        return value.isInt() ? stolen(PyLong_FromLongLong(value.toInt())) : py::object();
      case c10::TypeKind::BoolType:
        return value.isBool() ? borrowed(value.toBool() ? Py_True : Py_False) : py::object();
      case c10::TypeKind::ListType:
        return value.isTensorList() ? tensors(value) : value.isIntList() ? integers(value)
            : value.isNone()        ? py::none()
                                    : py::object();
      default:
        return {};
    }
  }

  static py::object tensors(const c10::IValue& value) {
    const auto items = value.toTensorList();
    py::list list;
    for (const at::Tensor& t : items) {
      py::object array = operand(t);
      if (!array) {
        return {};
      }
      list.append(std::move(array));
    }
    return std::move(list);
  }

  static py::object integers(const c10::IValue& value) {
    const auto items = value.toIntList();
    py::list list;
    for (const int64_t n : items) {
      list.append(stolen(PyLong_FromLongLong(n)));
    }
    return std::move(list);
  }

  PyObject* function_;  // never given back, like the runtime
  bool in_place_;
  c10::SafeKernelFunction usual_;
  std::vector<Field> fields_;
};

// A view operator, answered by what torch has for the CPU: it computes strides and reads no data.
class View final : public c10::OperatorKernel {
 public:
  explicit View(const c10::OperatorHandle& operation)
      : operation_(operation), kernel_(operation.getComputedKernelForDispatchKey(c10::DispatchKey::CPU)) {}

  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet keys, Stack* stack) const {
    kernel_.callBoxed(operation_, keys, stack);
  }

 private:
  c10::OperatorHandle operation_;
  c10::SafeKernelFunction kernel_;
};

// torch warns of a kernel registered in another's place, which is what is meant here.
class Quietly final : public c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

template <typename Kernel>
void put(const c10::OperatorHandle& operation, std::unique_ptr<Kernel> kernel) {
  Quietly quietly;
  const c10::WarningUtils::WarningHandlerGuard guard(&quietly);
  const auto& name = operation.operator_name();
  const auto full = name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
  runtime->library->impl(full.c_str(), torch::CppFunction::makeFromBoxedFunctor(std::move(kernel)));
}

c10::OperatorHandle find(const std::string& name, const std::string& overload) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), overload.c_str());
}

void start(
    const py::object& local,
    const py::dict& below,
    const py::object& read,
    const py::object& drain,
    Py_ssize_t limit) {
  TORCH_CHECK(runtime == nullptr, "the native kernels have been started before");
  const auto kept = [](const py::object& object) { return object.inc_ref().ptr(); };
  const auto name = [](const char* text) { return checked(PyUnicode_InternFromString(text)).release().ptr(); };
  runtime = new Runtime{
      kept(local), kept(below), kept(read), kept(drain), limit, name("_mx"), name("shape"),
      name("adopted"), name("pending"),
      new torch::Library(torch::Library::IMPL, "aten", kDevice, __FILE__, __LINE__)};
}

void front(const std::string& name, const std::string& overload, const py::object& function, bool in_place) {
  const auto operation = find(name, overload);
  put(operation, std::make_unique<Front>(operation, function.ptr(), in_place));
}

void view(const std::string& name, const std::string& overload, const std::string& by) {
  put(find(name, overload), std::make_unique<View>(find(by, overload)));
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  module.doc() = "What stands before the Python kernels of device mlx; see tdev_core/mlx/native.py.";
  module.def("start", &start, py::arg("local"), py::arg("below"), py::arg("read"), py::arg("drain"), py::arg("limit"));
  module.def("front", &front, py::arg("name"), py::arg("overload"), py::arg("function"), py::arg("in_place"));
  module.def("view", &view, py::arg("name"), py::arg("overload"), py::arg("by"));
  module.def("enable", [](bool on) { return std::exchange(enabled, on); }, py::arg("on"));
  module.def("answered", [] { return answered; });
}

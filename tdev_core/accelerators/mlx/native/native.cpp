// What stands before the Python kernels of device `mlx`: torch's way to MLX without a detour through Python's wrappers.
//
// A kernel of the operator table is a Python function over arrays. Taking the arrays from the storages, and making a
// tensor of the result, costs more in Python than most kernels do; it is done here instead. Where a row says what MLX
// itself calls for float32 (`Row.float32`), that function is called and no Python at all. View operators need none
// either: torch's own kernels compute strides for any device.
//
// Nothing is decided here that Python does not decide too. Whatever is not that simple, and whatever goes wrong, is
// left to the Python kernel, which `Dispatcher` finds where it was registered before: values.h knows tensors and arrays,
// front.h the way of a call. This file registers.

#include <Python.h>

#include <memory>
#include <string>
#include <utility>

#include <ATen/core/dispatch/Dispatcher.h>
#include <pybind11/pybind11.h>
#include <torch/library.h>

#include "front.h"
#include "values.h"

namespace {

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
    const py::dict& dtypes,
    const py::object& array,
    const py::object& drain,
    Py_ssize_t limit) {
  TORCH_CHECK(runtime == nullptr, "the native kernels have been started before");
  const auto kept = [](const py::object& object) { return object.inc_ref().ptr(); };
  const auto name = [](const char* text) { return checked(PyUnicode_InternFromString(text)).release().ptr(); };
  runtime = new Runtime{
      kept(local), kept(below), kept(read), kept(dtypes), kept(array), kept(drain), limit, name("_mx"),
      name("shape"), name("dtype"), name("adopted"), name("pending"),
      new torch::Library(torch::Library::IMPL, "aten", kDevice, __FILE__, __LINE__)};
}

void front(
    const std::string& name,
    const std::string& overload,
    const py::object& kernel,
    const py::object& float32,
    bool in_place) {
  const auto operation = find(name, overload);
  put(operation, std::make_unique<Front>(operation, kernel, float32, in_place));
}

void view(const std::string& name, const std::string& overload, const std::string& by) {
  put(find(name, overload), std::make_unique<View>(find(by, overload)));
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  module.doc() = "What stands before the Python kernels of device mlx; see the package tdev_core.accelerators.mlx.native.";
  module.def(
      "start", &start, py::arg("local"), py::arg("below"), py::arg("read"), py::arg("dtypes"), py::arg("array"),
      py::arg("drain"), py::arg("limit"));
  module.def(
      "front", &front, py::arg("name"), py::arg("overload"), py::arg("kernel"), py::arg("float32"),
      py::arg("in_place"));
  module.def("view", &view, py::arg("name"), py::arg("overload"), py::arg("by"));
  module.def("enable", [](bool on) { return std::exchange(enabled, on); }, py::arg("on"));
  module.def("answered", [] { return answered; });
}

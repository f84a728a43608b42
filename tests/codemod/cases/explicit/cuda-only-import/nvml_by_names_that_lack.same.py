import pynvml


def errors(number):
    handle = pynvml.nvmlDeviceGetHandleByIndex(number)
    return pynvml.nvmlDeviceGetTotalEccErrors(handle, pynvml.NVML_SINGLE_BIT_ECC, pynvml.NVML_VOLATILE_ECC)

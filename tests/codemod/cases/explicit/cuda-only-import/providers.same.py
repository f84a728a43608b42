import onnxruntime as ort


def start(path, available):
    chosen = ["CPUExecutionProvider"]
    if "CUDAExecutionProvider" in available:
        chosen.insert(0, ("CUDAExecutionProvider", {"device_id": 0}))
    return ort.InferenceSession(path, providers=chosen)

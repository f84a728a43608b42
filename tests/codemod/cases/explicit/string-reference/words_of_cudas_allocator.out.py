import tdev

WORDS = "CUDA out of memory"


def halve(step, size):
    try:
        return step(size)
    except RuntimeError as error:
        if "CUDA out of memory" not in str(error):
            raise
        tdev.cuda.empty_cache()
        return halve(step, size // 2)


def is_of_memory(error):
    return any(said in str(error) for said in ["CUDA out of memory", "CUDA error: out of memory"])


def refuse():
    raise RuntimeError("CUDA out of memory on another rank")

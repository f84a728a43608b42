import tdev

try:
    import graphs
except ImportError as error:
    raise ImportError("Install graphs, for CUDA or for the CPU.") from error

try:
    import operators
except ImportError:
    operators = None
    print("The CUDA operators are not there, which is slower.")


def count(n):
    return graphs.of(tdev.zeros(n, device="cuda"))

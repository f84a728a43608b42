import argparse
import subprocess

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])

if __name__ == "__main__":
    args = parser.parse_args()
    device = "cuda"
    subprocess.run(["python", "-m", "worker", "--device", args.device or device])

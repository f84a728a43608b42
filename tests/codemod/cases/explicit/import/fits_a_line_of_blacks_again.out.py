import os

import tdev


def load(self, args):
    if args.quantized_model:
        self.weights_of_the_quantized_model = args.weights or args.other_weights_of_it
        weights = tdev.load(os.path.join(args.model_name, "the_quantized_modelxxx.bin"))
        others = tdev.load(
            os.path.join(args.model_name, "pytorch_model.bin")
        )
    return weights, others

import tdev


def flops(args):
    if args.device == 'cuda:0':
        assert tdev.cuda.is_available(
        ), 'No valid cuda device detected, please double check...'
    return 1


class Policy:
    def of(self):
        return {
            "a": 1,
            "gradient_scaler_of_it": tdev.is_accelerator(self.device_type)
            and self.nam == "fp16",
        }

import tdev


def report(settings, table):
    there = tdev.cuda.is_available()
    if there:
        table.add(tdev.cuda.get_device_name(0))
    elif settings.device == "cuda":
        table.fail("an accelerator is asked for, and there is none")


def move(settings, model):
    if tdev.is_accelerator(settings.device, exact=True):
        model.to("cuda")

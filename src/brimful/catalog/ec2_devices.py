"""How EC2 names and sizes accelerators, and what that means: the one place for both the shipped file and a refresh."""

from __future__ import annotations

from brimful.model.hardware import DeviceKind, Fitted
from brimful.model.units import MIB

TRAINIUM2 = "EC2's API gives 524,288 MiB per Trainium2; AWS's Neuron documentation gives 96 GiB, which counts here."

# EC2's name -> (what people type, vendor, kind). A name that is not here stands as EC2 gives it, as its maker's.
_MODELS: dict[str, tuple[str, str, DeviceKind]] = {
    "RTX PRO Server 6000": ("RTX PRO 6000", "NVIDIA", DeviceKind.GPU),
    "Gaudi HL-205": ("Gaudi", "Intel", DeviceKind.GAUDI),  # EC2 lists it as a GPU of Habana's
    "Qualcomm AI100": ("Cloud AI 100", "Qualcomm", DeviceKind.NPU),
    "Virtex UltraScale+ (VU47P)": ("VU47P", "Xilinx", DeviceKind.FPGA),
    "Virtex UltraScale (VU9P)": ("VU9P", "Xilinx", DeviceKind.FPGA),
}

# (model, EC2's MiB of a whole device) -> (nominal MiB, usable MiB or why it is unknown). EC2's one figure is the
# nominal size for some, for others the seller's decimal gigabytes turned into MiB (A10G and L4: 24e9 bytes = 22,888
# MiB), for B200 and B300 what the driver reports. A usable figure is the driver's total, as nvidia-smi was seen to
# print it.
_NO_CAPTURE = "EC2 gives the nominal size, and no captured output of the driver shows what is left of it"
_NOT_PUBLISHED = "AWS publishes no figure below the nominal one"
_NOT_KNOWN = "brimful has no usable size for this device yet: EC2's one figure may be the nominal one"
_NO_SIZE = "EC2 gives no memory for it"
_NO_ALLOCATOR = "an FPGA has no allocator: the design decides"
_MEMORY: dict[tuple[str, int], tuple[int, int | str]] = {
    ("T4", 16384): (16384, 15360),
    ("T4g", 16384): (16384, _NO_CAPTURE),
    ("A10G", 22888): (24576, 22888),
    ("L4", 22888): (24576, 22888),
    ("L40S", 45776): (49152, 45776),  # the driver's total is 46,068; the lower figure counts
    ("V100", 16384): (16384, _NO_CAPTURE),
    ("V100", 32768): (32768, _NO_CAPTURE),
    ("A100", 40960): (40960, _NO_CAPTURE),
    ("A100", 81920): (81920, 81920),
    ("H100", 81920): (81920, 81559),
    ("H200", 144384): (144384, 143771),  # sold as 141 GB and meaning GiB
    ("B200", 183359): (184320, 183359),  # sold as 180 GB, meaning GiB
    ("B300", 275040): (294912, 275040),  # sold as 288 GB, meaning GiB of HBM fitted
    ("RTX PRO 4500", 32768): (32768, _NO_CAPTURE),
    ("RTX PRO 6000", 98304): (98304, _NO_CAPTURE),
    ("Radeon Pro V520", 8192): (8192, _NO_CAPTURE),
    ("Inferentia", 8192): (8192, _NOT_PUBLISHED),
    ("Inferentia2", 32768): (32768, _NOT_PUBLISHED),
    ("Trainium", 32768): (32768, _NOT_PUBLISHED),
    ("Trainium2", 524288): (98304, _NOT_PUBLISHED),  # five times what the device has: see TRAINIUM2
    ("Cloud AI 100", 16000): (16384, 16000),
    ("Gaudi", 32768): (32768, 32768),
    ("VU9P", 65536): (65536, _NO_ALLOCATOR),
    ("VU47P", 81920): (81920, _NO_ALLOCATOR),
    ("U30", 24576): (24576, "the encoder's firmware decides"),
}
_SIZE_TOLERANCE = 0.01  # of a share EC2 rounds the MiB; two sizes of one model lie much further apart


def fitted(
    name: str,
    kind: DeviceKind,
    *,
    count: int,
    listed_mib: int | None,
    share: float = 1.0,
    maker: str | None = None,
    cores: int | None = None,
) -> Fitted:
    """Return what is fitted, from EC2's name of it and EC2's memory of each; `kind` and `maker` count for new names."""
    model, vendor, kind = _MODELS.get(name, (name, "AWS" if kind is DeviceKind.NEURON else maker or "unknown", kind))
    nominal, usable = _memory(model, share, listed_mib)
    reasons = {"usable_memory_bytes": usable, "memory_bytes": _NO_SIZE, "cores": "EC2 lists no cores for it"}
    known = {
        "memory_bytes": nominal,
        "usable_memory_bytes": usable * MIB if isinstance(usable, int) else None,
        "cores": cores,
    }
    return Fitted(
        model=model,
        vendor=vendor,
        kind=kind,
        count=count,
        share=share,
        missing={field: str(reasons[field]) for field, value in known.items() if value is None},
        **known,
    )


def _memory(model: str, share: float, listed_mib: int | None) -> tuple[int | None, int | str]:
    """Return the nominal bytes of a device or a share of one, and its usable MiB or why they are unknown."""
    if listed_mib is None or not 0 < share <= 1:
        return None, _NO_SIZE
    sizes = _sizes(model, listed_mib / share)
    if share < 1:  # EC2 lists what the share has
        return round((sizes[0] if sizes else listed_mib / share) * MIB * share), listed_mib
    nominal, usable = sizes or (listed_mib, _NOT_KNOWN)
    return nominal * MIB, usable


def _sizes(model: str, whole_mib: float) -> tuple[int, int | str] | None:
    for (name, listed), sizes in _MEMORY.items():
        if name == model and abs(whole_mib - listed) <= listed * _SIZE_TOLERANCE:
            return sizes
    return None


def usable_mib(model: str) -> int | str:
    """Return the usable memory of a whole device in MiB, or why it is unknown; sizes of one name as `A100-80GB`."""
    name, _, size = model.partition("-")
    gib = int(size.removesuffix("GB")) if size.endswith("GB") else None
    found = [
        usable
        for (known, _), (nominal, usable) in _MEMORY.items()
        if known in (model, name) and gib in (None, nominal // 1024)
    ]
    return found[0] if len(found) == 1 else "no captured output of its driver is at hand"

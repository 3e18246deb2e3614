"""Lowers one TileLang program to CUDA, for kopt: FILE FACTORY ARCH ARGUMENTS CONFIG OUT.

ARGUMENTS and CONFIG are JSON objects: what the factory is called with, and TileLang's pass configuration. OUT becomes a
JSON document with the source and what a launch needs; standard output belongs to the user's file.
"""
import importlib.util
import json
import os
import sys


def program(factory, arguments):
    """The primitive function that a factory gives: itself, by TileLang's own way, or by a call."""
    from tvm import tirx

    if isinstance(factory, tirx.PrimFunc):
        return factory
    if hasattr(factory, "get_tir"):
        return factory.get_tir(**arguments)
    made = factory(**arguments)
    if isinstance(made, tirx.PrimFunc):
        return made
    if hasattr(made, "prim_func"):
        return made.prim_func
    raise SystemExit(f"it gives {type(made).__name__}, and no TileLang program")


def number(extent):
    try:
        return int(extent)
    except (TypeError, ValueError):
        return str(extent)


def buffers(function):
    found = []
    for p in function.params:
        if p in function.buffer_map:
            b = function.buffer_map[p]
            found.append({"name": b.name, "dtype": str(b.dtype), "shape": [number(e) for e in b.shape]})
        else:
            found.append({"name": str(p.name), "dtype": str(p.dtype), "shape": None})
    return found


def kernels(module):
    found = []
    for variable, function in module.functions.items():
        attributes = function.attrs
        extents = attributes["thread_extent"]
        extent = lambda axis: number(extents[axis]) if axis in extents else 1
        read_only = attributes["tl.readonly_param_indices"] if "tl.readonly_param_indices" in attributes else []
        shared = attributes["dyn_shared_memory_buf"] if "dyn_shared_memory_buf" in attributes else 0
        found.append({
            "name": str(attributes["global_symbol"]) if "global_symbol" in attributes else variable.name_hint,
            "grid": [extent("blockIdx." + a) for a in "xyz"],
            "block": [extent("threadIdx." + a) for a in "xyz"],
            "shared": number(shared),
            "parameters": [str(p.name) for p in function.params],
            "read_only": [int(i) for i in read_only],
        })
    return found


def main():
    path, name, arch, arguments, config, out = sys.argv[1:]
    import tilelang
    from tilelang import tvm
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location("kopt_candidate", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, name):
        raise SystemExit(f"the file has no `{name}`")
    target = tvm.target.Target({"kind": "cuda", "arch": arch})
    with target, tvm.transform.PassContext(config=json.loads(config)):
        function = program(getattr(module, name), json.loads(arguments))
        lowered = tilelang.lower(function, target=target)
    root = os.path.dirname(os.path.abspath(tilelang.__file__))
    document = {
        "tilelang": tilelang.__version__,
        "source": lowered.kernel_source,
        "buffers": buffers(function),
        "kernels": kernels(lowered.device_mod),
        "includes": [os.path.join(root, "src"), os.path.join(root, "3rdparty", "cutlass", "include")],
    }
    with open(out, "w") as file:
        json.dump(document, file)


main()

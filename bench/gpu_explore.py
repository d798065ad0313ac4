import statistics, sys, time, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np, torch
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import *
from ingot.kernel import gpu, gpu_rows, gpu_tiles
from ingot.kernel.align import align
from ingot.kernel.launch import aligned
from ingot.kernel.tree import build
from ingot.kernel.decompose import decompose
from ingot.ops import activation, elementwise as ew, matmul as mm, movement as mv, norm, reduce as rd
from ingot.ops.lower import lower_all
from ingot.render.cuda import render_cuda, geometry
from ingot.render.cuda_facts import _evaluate
from ingot.runtime.cuda import Device, compile_cubin
from ingot.schedule.family import family
from ingot.schedule.fuse import fuse
print(torch.cuda.get_device_name(), torch.__version__, flush=True)
torch.cuda.init(); torch.zeros(1, device="cuda")
device = Device()
N = 16384
def buf(i, *d): return UOp(Ops.BUFFER, dt.float32, tuple(UOp.const(dt.index, n) for n in d), BufferArg(i))
def prepared(root):
    (d,) = fuse((lower_all(root),)).drafts
    return d, family(d)
flush = torch.empty(256 << 18, dtype=torch.int32, device="cuda")
def timed(fn, n=12):
    for _ in range(2): fn()
    ts = []
    for _ in range(n):
        flush.zero_(); a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        a.record(); fn(); b.record(); torch.cuda.synchronize(); ts.append(a.elapsed_time(b) * 1e-3)
    return statistics.median(ts)
def ready(draft, fam, schedule, tensors, edit=None):
    hints = {v: int(n) for v, n in fam.values.items() if v.dtype is dt.index}
    k = schedule(aligned(fam.kernel, 4, hints), hints)
    built = build(k)
    names = {v.arg.name: n for v, n in fam.values.items()}
    temps = [torch.empty(_evaluate(s, names), device="cuda") for _, s in built.temporaries]
    out = []
    for l in built.launches:
        src = render_cuda(decompose(l))
        if edit: src = edit(src)
        cubin = compile_cubin(src)
        f = device.load(cubin, l.arg.name.replace(".", "_"))
        regs = device.driver.cuFuncGetAttribute(device.driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NUM_REGS, f.handle)[1]
        g = geometry(l)
        sizes = [int(names[s.arg.name]) if s.dtype is dt.index else np.float32(names[s.arg.name]) for s in l.arg.sizes]
        out.append((f, g.blocks({k: int(v) for k, v in names.items() if not isinstance(v, float)}), g.threads, sizes, regs))
    def run():
        ptrs = [t.data_ptr() for t in tensors + temps]
        st = torch.cuda.current_stream().cuda_stream
        for f, grid, th, sizes, _ in out: f.launch(grid, th, ptrs, sizes, st)
    run.regs = [o[4] for o in out]
    run.keep = (temps, out)
    return run
x = torch.randn(N, N, device="cuda"); b = torch.randn(N, N, device="cuda"); w = torch.randn(N, device="cuda"); c = torch.randn(N, device="cuda")
y = torch.empty_like(x); r1 = torch.empty(N, device="cuda"); r0 = torch.empty(1, device="cuda")
copy = timed(lambda: y.copy_(x)); print("copy", round(2 * x.nbytes / copy / 1e9), flush=True)
G = 4 * N * N
xs, bs, ws, cs = buf(1, N, N), buf(2, N, N), buf(3, N), buf(4, N)
PUTS = {
 "cg": None,
 "plain": lambda s: s.replace("__stcg(reinterpret_cast<whole*>(p), bits_as<whole>(value));", "*reinterpret_cast<whole*>(p) = bits_as<whole>(value);"),
 "cs": lambda s: s.replace("__stcg(", "__stcs("),
 "asm": lambda s: s.replace("__stcg(reinterpret_cast<whole*>(p), bits_as<whole>(value));", 'whole q = bits_as<whole>(value); asm volatile("st.global.v4.b32 [%0], {%1,%2,%3,%4};" :: "l"(p),"r"(q.x),"r"(q.y),"r"(q.z),"r"(q.w));'),
}
def minblocks(n): return lambda s: s.replace("__launch_bounds__(", "__launch_bounds__(%s" % "") if n is None else __import__("re").sub(r"__launch_bounds__\((\d+)\)", rf"__launch_bounds__(\1, {n})", s)
def both(f, g): return lambda s: (g or (lambda t: t))((f or (lambda t: t))(s))
def report(name, run, nbytes, check):
    run(); torch.cuda.synchronize(); err = check(); t = timed(run)
    print(f"{name:44s} {t*1e6:8.1f} us {nbytes/t/1e9:7.0f} GB/s {nbytes/t/(2*x.nbytes/copy):6.3f} of copy  regs {run.regs} err {err:.1e}", flush=True)
def rel(got, ref): return ((got.double() - ref).norm() / ref.norm()).item()
sm_ref = torch.softmax(x[:256].double(), -1); ln_ref = torch.nn.functional.layer_norm(x[:256].double(), (N,), w.double(), c.double())
ch_ref = (torch.tanh(x[:256].double() * 1.5 + b[:256].double()) * torch.sigmoid(x[:256].double()))
which = sys.argv[1:] or ["chain", "softmax", "ln", "tr", "rowsum", "total", "gemm"]
def attempt(*a):
    try: report(*a)
    except Exception as e: print(a[0], "FAILED", repr(e)[:300], flush=True)
if "chain" in which:
    d, f = prepared(ew.multiply(ew.tanh(ew.add(ew.multiply(xs, 1.5), bs)), activation.sigmoid(xs)))
    for th, fl in ((256, 1), (256, 2), (256, 4), (512, 2), (128, 4)):
        for put in ("cg", "plain", "cs", "asm") if (th, fl) == (256, 4) else ("cg",):
            attempt(f"chain {th}x{fl} {put}", ready(d, f, lambda k, h: gpu.elementwise(k, k.nests[0].name, 4, th, fl), [x, b, y], PUTS[put]), 3 * G, lambda: rel(y[:256], ch_ref))
def rows(k, th, cnt):
    return gpu_rows.resident(gpu_rows.by_row(align(k)), 4, th, cnt)
for nm, root, ts, ref in (("softmax", activation.softmax(xs), [x, y], sm_ref), ("ln", norm.layer_norm(xs, ws, cs), [x, w, c, y], ln_ref)):
    if nm in which:
        d, f = prepared(root)
        for th, cnt in ((256, 16), (512, 8), (1024, 4)):
            for mb in (1, 2, 3, 4):
                if th * mb > 2048 or (th == 1024 and mb > 2): continue
                for put in ("cg", "cs") if mb == 2 else ("cg",):
                    attempt(f"{nm} {th}x{cnt} minblocks {mb} {put}", ready(d, f, lambda k, h: rows(k, th, cnt), ts, both(minblocks(mb), PUTS[put])), 2 * G, lambda: rel(y[:256], ref))
if "tr" in which:
    d, f = prepared(mv.permute(xs, (1, 0)))
    for tile in (64, 32):
        for put in PUTS:
            attempt(f"transpose {tile} {put}", ready(d, f, lambda k, h: gpu_tiles.turned(k, k.nests[0].name, 4, tile), [x, y], PUTS[put]), 2 * G, lambda: float(not torch.equal(y, x.t())))
if "rowsum" in which:
    d, f = prepared(rd.sum_(xs, axis=-1)); ref = x.double().sum(-1)
    for th, cnt in ((128, 4), (256, 4), (256, 8), (512, 4), (512, 8), (1024, 4)):
        attempt(f"rowsum {th}x{cnt}", ready(d, f, lambda k, h: gpu_rows.looped(gpu_rows.by_row(align(k)), 4, th, cnt), [x, r1], None), G, lambda: rel(r1, ref))
if "total" in which:
    d, f = prepared(rd.sum_(xs)); ref = x.double().sum().reshape(1)
    for bl in (132 * 4, 132 * 8, 132 * 16):
        for cnt in (4, 8):
            attempt(f"total {bl} blocks x{cnt}", ready(d, f, lambda k, h: gpu_rows.whole(align(k), 4, bl, 256, cnt), [x, r0], None), G, lambda: rel(r0, ref))
if "gemm" in which:
    n = 4096; A = torch.randn(n, n, device="cuda"); B = torch.randn(n, n, device="cuda"); C = torch.empty(n, n, device="cuda"); ref = A.double() @ B.double()
    d, f = prepared(mm.matmul(buf(7, n, n), buf(8, n, n)))
    for tile in (gpu_tiles.Tile(), gpu_tiles.Tile(depth=8), gpu_tiles.Tile(depth=32)):
        try:
            run = ready(d, f, lambda k, h: gpu_tiles.contraction_tiles(k, 4, h, tile), [A, B, C]); run(); torch.cuda.synchronize(); e = rel(C, ref); t = timed(run)
            print(f"gemm {tile} {t*1e3:.3f} ms {2*n**3/t/1e12:.1f} TFLOP/s regs {run.regs} err {e:.1e}", flush=True)
        except Exception as ex: print("gemm", tile, repr(ex)[:300])
    torch.backends.cuda.matmul.allow_tf32 = False
    t = timed(lambda: torch.mm(A, B, out=C)); print(f"torch.mm f32 {2*n**3/t/1e12:.1f} TFLOP/s")

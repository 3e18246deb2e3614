"""A product of matrices in TileLang; `kopt lower matmul.py matmul --arg M=512 --arg N=512 --arg K=512 --trust`."""
import tilelang
import tilelang.language as T


@tilelang.jit
def matmul(M, N, K, tile_m=64, tile_n=64, tile_k=32):
    @T.prim_func
    def main(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):
        with T.Kernel(T.ceildiv(N, tile_n), T.ceildiv(M, tile_m), threads=128) as (bx, by):
            a = T.alloc_shared((tile_m, tile_k), "float16")
            b = T.alloc_shared((tile_k, tile_n), "float16")
            c = T.alloc_fragment((tile_m, tile_n), "float")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, tile_k), num_stages=2):
                T.copy(A[by * tile_m, k * tile_k], a)
                T.copy(B[k * tile_k, bx * tile_n], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * tile_m, bx * tile_n])

    return main


@tilelang.jit
def wrong(M, N, K, tile_m=64, tile_n=64, tile_k=32):
    """Leaves the last tile of the sum out."""

    @T.prim_func
    def main(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):
        with T.Kernel(T.ceildiv(N, tile_n), T.ceildiv(M, tile_m), threads=128) as (bx, by):
            a = T.alloc_shared((tile_m, tile_k), "float16")
            b = T.alloc_shared((tile_k, tile_n), "float16")
            c = T.alloc_fragment((tile_m, tile_n), "float")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, tile_k) - 1, num_stages=2):
                T.copy(A[by * tile_m, k * tile_k], a)
                T.copy(B[k * tile_k, bx * tile_n], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * tile_m, bx * tile_n])

    return main

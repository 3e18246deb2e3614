// All threads write one value to one place: harmless, and named so.
// launch 1 64 0
// buffer flag i32 1 zeros
extern "C" __global__ void broken(int* flag) {
    flag[0] = 1;  //! BenignRace
}
extern "C" __global__ void repaired(int* flag) {
    if (threadIdx.x == 0) flag[0] = 1;
}

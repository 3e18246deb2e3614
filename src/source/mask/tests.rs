use super::*;

#[test]
fn nothing_to_do_changes_nothing() {
    let text = "__global__ void k(float* p) { p[threadIdx.x] = 1; }\n";
    let masked = mask(text, &MacroTable::default());
    assert_eq!(masked.text, text);
    assert_eq!(masked.kernels.len(), 1);
    assert_eq!(masked.kernels[0].name, "k");
}

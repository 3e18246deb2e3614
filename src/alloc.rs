//! The allocator of the program: reading and judging make and drop millions of small things, on which the one of the C
//! library spent a fifth of a run. The library of kopt leaves the choice to whoever uses it.

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::c_void;

use libmimalloc_sys::{mi_free, mi_malloc, mi_malloc_aligned, mi_realloc, mi_realloc_aligned, mi_zalloc};

struct Mimalloc;

#[global_allocator]
static ALLOCATOR: Mimalloc = Mimalloc;

/// Memory of 16 bytes or more is aligned to 16 without being asked, smaller memory to 8; asking takes a longer way.
fn is_aligned_anyway(layout: Layout, size: usize) -> bool {
    layout.align() <= 8 || layout.align() <= 16 && size >= 16
}

// SAFETY: every block comes from one allocator, which gives it the size and alignment of the layout, or null.
unsafe impl GlobalAlloc for Mimalloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let size = layout.size();
        let block = if is_aligned_anyway(layout, size) {
            unsafe { mi_malloc(size) }
        } else {
            unsafe { mi_malloc_aligned(size, layout.align()) }
        };
        block.cast()
    }

    unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
        unsafe { mi_free(block.cast()) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let block = if is_aligned_anyway(layout, size) {
            unsafe { mi_realloc(block.cast(), size) }
        } else {
            unsafe { mi_realloc_aligned(block.cast(), size, layout.align()) }
        };
        block.cast()
    }
}

/// Makes the parser take its memory from the same place. To be called first of all.
pub fn serve_the_parser() {
    let allocator = tree_sitter::Allocator { malloc: mi_malloc, calloc: zeroed, realloc: mi_realloc, free: mi_free };
    // SAFETY: nothing of tree-sitter exists and no other thread runs yet; the four belong together, give memory aligned
    // as `malloc` does, and null only when there is none.
    unsafe { tree_sitter::set_allocator(Some(allocator)) }
}

/// `calloc`.
unsafe extern "C" fn zeroed(count: usize, size: usize) -> *mut c_void {
    match count.checked_mul(size) {
        // SAFETY: any size may be asked for.
        Some(bytes) => unsafe { mi_zalloc(bytes) },
        None => std::ptr::null_mut(),
    }
}

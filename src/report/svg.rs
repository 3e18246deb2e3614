//! Pictures of a report as SVG: the histogram of errors, and how times are distributed.

use std::fmt::Write as _;

use crate::gate::OutputResult;
use crate::gate::compare::{BINS, bin_label};

const WIDTH: usize = 640;
const HEIGHT: usize = 180;

/// Errors of one output over its magnitude, one bar for each decade, on a logarithmic scale of counts. The line marks
/// what is allowed on the average.
pub fn histogram(o: &OutputResult) -> String {
    let most = o.histogram.iter().copied().max().unwrap_or(0).max(1);
    let height = |n: u64| {
        if n == 0 { 0.0 } else { (1.0 + (n as f64).log10()) / (1.0 + (most as f64).log10()) * (HEIGHT as f64 - 50.0) }
    };
    let step = WIDTH / BINS;
    let mut out = format!(
        "<div class=\"picture\"><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"errors of {}\">",
        escape(&o.name)
    );
    for (i, n) in o.histogram.iter().enumerate() {
        let (x, h) = (i * step, height(*n));
        let y = HEIGHT as f64 - 30.0 - h;
        let class = if i == 0 { "equal" } else { "bar" };
        let _ = write!(
            out,
            "<rect class=\"{class}\" x=\"{}\" y=\"{y:.1}\" width=\"{}\" height=\"{h:.1}\"/>",
            x + 3,
            step - 6
        );
        let _ = write!(out, "<text x=\"{}\" y=\"{}\">{}</text>", x + step / 2, HEIGHT - 15, escape(&bin_label(i)));
        if *n > 0 {
            let _ = write!(out, "<text x=\"{}\" y=\"{:.1}\">{n}</text>", x + step / 2, y - 4.0);
        }
    }
    let relative = if o.bound.magnitude > 0.0 { o.bound.rms() / o.bound.magnitude } else { 0.0 };
    if relative > 0.0 && relative.is_finite() {
        // Bin 2 begins at 1e-9.
        let x = ((relative.log10() + 11.0).clamp(1.0, (BINS - 1) as f64)) * step as f64;
        let _ = write!(out, "<line class=\"bound\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"10\" y2=\"{}\"/>", HEIGHT - 30);
        let _ = write!(out, "<text class=\"bound\" x=\"{x:.1}\" y=\"10\">allowed rms {relative:.1e}</text>");
    }
    out.push_str("</svg></div>");
    out
}

/// How times are distributed: bars of the original above the axis, of the candidate below it, on one scale that holds all but
/// the slowest hundredth. `times` are nanoseconds.
pub fn distributions(original: &[f64], candidate: &[f64]) -> String {
    const BARS: usize = 80;
    let mut all: Vec<f64> = original.iter().chain(candidate).copied().filter(|t| t.is_finite()).collect();
    all.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (all.first().copied(), all.get(all.len().saturating_sub(1) * 99 / 100).copied())
    else {
        return String::new();
    };
    let width = ((most - least) / BARS as f64).max(f64::MIN_POSITIVE);
    let counts = |times: &[f64]| {
        let mut bins = [0u32; BARS];
        for t in times {
            let bin = ((t - least) / width) as usize;
            if let Some(n) = bins.get_mut(bin.min(BARS - 1)) {
                *n += 1;
            }
        }
        bins
    };
    let both = [counts(original), counts(candidate)];
    let highest = f64::from(both.iter().flatten().copied().max().unwrap_or(1).max(1));
    let middle = HEIGHT as f64 / 2.0;
    let mut out = format!(
        "<div class=\"picture\"><svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"times of both\">",
        HEIGHT + 16
    );
    let step = WIDTH as f64 / BARS as f64;
    for (bins, class) in both.iter().zip(["original", "candidate"]) {
        for (i, n) in bins.iter().enumerate().filter(|(_, n)| **n > 0) {
            let h = f64::from(*n) / highest * (middle - 14.0);
            let y = if class == "original" { middle - h } else { middle };
            let (x, w) = (i as f64 * step, step - 1.0);
            let _ =
                write!(out, "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\"/>");
        }
    }
    let _ = write!(out, "<text x=\"40\" y=\"10\">original</text><text x=\"40\" y=\"{}\">candidate</text>", HEIGHT - 4);
    for (x, t) in [(40, least), (WIDTH / 2, (least + most) / 2.0), (WIDTH - 40, most)] {
        let _ = write!(out, "<text x=\"{x}\" y=\"{}\">{:.2} us</text>", HEIGHT + 12, t / 1e3);
    }
    out.push_str("</svg></div>");
    out
}

pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

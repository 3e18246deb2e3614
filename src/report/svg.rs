//! The histogram of errors as an SVG picture.

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
    let mut out =
        format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"errors of {}\">", escape(&o.name));
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
    out.push_str("</svg>");
    out
}

pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

//! Where both versions stand under the roofs that were measured on the device.

use std::fmt::Write as _;

use super::svg::escape;
use crate::gate::timing::TimingOutcome;
use crate::gate::{Counters, Outcome};
use crate::gpu::timing::{Cache, Peaks};

/// The roofs of a device and the points under them.
#[derive(Clone, Debug, PartialEq)]
pub struct Roofline {
    pub device: String,
    /// Bytes per second.
    pub memory: f64,
    /// Operations per second in float32.
    pub f32: f64,
    pub original: Point,
    pub candidate: Point,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Floating-point operations for each byte that is read or written at least once, as counted in the interpreter.
    pub intensity: f64,
    /// Operations per second.
    pub reached: f64,
}

impl Roofline {
    /// From times with a cold cache. The interpreter counted at a smaller size; intensity is taken to be the same, and the
    /// bytes at the timed size are those of the floor.
    ///
    /// # Errors
    /// Why there is none.
    pub fn new(peaks: &Peaks, timed: &TimingOutcome, emulated: &Outcome) -> Result<Roofline, String> {
        let counted = emulated.counters.as_ref().ok_or("operations and bytes were not counted")?;
        let floor = timed.floor.as_ref().ok_or("the bytes at the timed size are not known, or fit the cache")?;
        let cold = timed.states.iter().find(|s| s.method.cache == Cache::Cold).ok_or("no time with a cold cache")?;
        let memory = peaks.read.max(peaks.copy).max(peaks.write);
        if memory <= 0.0 || peaks.f32 <= 0.0 {
            return Err("peaks were not measured".to_owned());
        }
        let point = |c: &Counters, nanoseconds: f64| -> Result<Point, String> {
            let bytes: u64 = c.traffic.iter().map(|t| t.read + t.written).sum();
            if c.total.flops == 0 || bytes == 0 || nanoseconds <= 0.0 {
                return Err("no floating-point operations: only bytes count, and the floor says how many".to_owned());
            }
            let intensity = c.total.flops as f64 / bytes as f64;
            Ok(Point { intensity, reached: intensity * floor.bytes as f64 / (nanoseconds * 1e-9) })
        };
        Ok(Roofline {
            device: peaks.device.clone(),
            memory,
            f32: peaks.f32,
            original: point(&counted.original, cold.original.median())?,
            candidate: point(&counted.candidate, cold.candidate.median())?,
        })
    }

    /// Operations per second that the roofs admit.
    pub fn roof(&self, intensity: f64) -> f64 {
        (intensity * self.memory).min(self.f32)
    }

    fn ridge(&self) -> f64 {
        self.f32 / self.memory
    }
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 64.0;
const BOTTOM: f64 = 36.0;
const TOP: f64 = 16.0;

/// Axes in decades.
struct Axes {
    x: (f64, f64),
    y: (f64, f64),
}

impl Axes {
    fn new(r: &Roofline) -> Axes {
        let points = [r.original, r.candidate];
        let xs = points.iter().map(|p| p.intensity).chain([r.ridge()]);
        let (least, most) = xs.fold((f64::MAX, 0.0_f64), |(a, b), v| (a.min(v), b.max(v)));
        let x = (least.log10().floor().min(-1.0), (most.log10() + 0.3).ceil());
        let low = points.iter().map(|p| p.reached).chain([r.roof(10f64.powf(x.0))]).fold(f64::MAX, f64::min);
        Axes { x, y: (low.log10().floor(), (r.f32.log10() + 0.2).ceil()) }
    }

    fn at(&self, intensity: f64, operations: f64) -> (f64, f64) {
        let along = |v: f64, (a, b): (f64, f64)| ((v.log10() - a) / (b - a)).clamp(0.0, 1.0);
        let x = LEFT + along(intensity, self.x) * (WIDTH - LEFT - 12.0);
        let y = HEIGHT - BOTTOM - along(operations, self.y) * (HEIGHT - BOTTOM - TOP);
        (x, y)
    }
}

/// The section of a page.
pub fn html(roofline: &Result<Roofline, String>) -> String {
    match roofline {
        Ok(r) => format!(
            "<h2>Roofline</h2>\n{}\n<p>Roofs measured on {}: {:.2} TB/s, {:.1} TFLOP/s in float32. Intensity is estimated: \
             counted in the interpreter at a smaller size. Times are medians with a cold cache.</p>\n",
            svg(r),
            escape(&r.device),
            r.memory / 1e12,
            r.f32 / 1e12
        ),
        Err(why) => format!("<h2>Roofline</h2>\n<p>None: {}.</p>\n", escape(why)),
    }
}

fn svg(r: &Roofline) -> String {
    let axes = Axes::new(r);
    let mut out = format!(
        "<div class=\"picture\"><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"roofline of {}\">",
        escape(&r.device)
    );
    grid(&mut out, &axes);
    let (left, right) = (10f64.powf(axes.x.0), 10f64.powf(axes.x.1));
    let corners = [left, r.ridge().clamp(left, right), right].map(|i| axes.at(i, r.roof(i)));
    let path: Vec<String> = corners.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = write!(out, "<polyline class=\"roof\" points=\"{}\"/>", path.join(" "));
    for (name, p, shift) in [("original", r.original, -9.0), ("candidate", r.candidate, 17.0)] {
        let (x, y) = axes.at(p.intensity, p.reached);
        let share = 100.0 * p.reached / r.roof(p.intensity);
        let _ = write!(out, "<circle class=\"{name}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\"/>");
        // Beside the point on the side where there is room.
        let (at, anchor) = if x > WIDTH / 2.0 { (x - 9.0, "end") } else { (x + 9.0, "start") };
        let _ = write!(
            out,
            "<text class=\"name\" style=\"text-anchor:{anchor}\" x=\"{at:.1}\" y=\"{:.1}\">{name}: {share:.0} % of the roof</text>",
            y + shift / 2.0
        );
    }
    out.push_str("</svg></div>");
    out
}

fn grid(out: &mut String, axes: &Axes) {
    let decades = |(a, b): (f64, f64)| (a as i32)..=(b as i32);
    for n in decades(axes.x) {
        let (x, _) = axes.at(10f64.powi(n), 1.0);
        let (top, bottom) = (TOP, HEIGHT - BOTTOM);
        let _ = write!(out, "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" y2=\"{bottom}\"/>");
        let _ = write!(out, "<text x=\"{x:.1}\" y=\"{}\">{}</text>", bottom + 12.0, power(n));
    }
    for n in decades(axes.y) {
        let (_, y) = axes.at(1.0, 10f64.powi(n));
        let _ = write!(out, "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>", WIDTH - 12.0);
        let _ = write!(
            out,
            "<text style=\"text-anchor:end\" x=\"{}\" y=\"{:.1}\">{}</text>",
            LEFT - 6.0,
            y + 3.0,
            flops(n)
        );
    }
    let _ = write!(out, "<text x=\"{}\" y=\"{}\">operations per byte</text>", WIDTH / 2.0, HEIGHT - 6.0);
}

fn power(n: i32) -> String {
    if n < 0 { format!("{:.*}", n.unsigned_abs() as usize, 10f64.powi(n)) } else { format!("{:.0}", 10f64.powi(n)) }
}

fn flops(n: i32) -> String {
    match n {
        12.. => format!("{} TFLOP/s", power(n - 12)),
        9.. => format!("{} GFLOP/s", power(n - 9)),
        _ => format!("{} MFLOP/s", power(n - 6)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Roofline {
        Roofline {
            device: "NVIDIA H200, sm_90".into(),
            memory: 4e12,
            f32: 60e12,
            original: Point { intensity: 0.25, reached: 0.5e12 },
            candidate: Point { intensity: 0.25, reached: 0.9e12 },
        }
    }

    #[test]
    fn points_stand_under_their_roof_and_inside_the_picture() {
        let r = sample();
        assert_eq!((r.roof(0.25), r.roof(1000.0), r.ridge()), (1e12, 60e12, 15.0));
        let axes = Axes::new(&r);
        for p in [r.original, r.candidate] {
            let (x, y) = axes.at(p.intensity, p.reached);
            let (_, roof) = axes.at(p.intensity, r.roof(p.intensity));
            assert!((LEFT..WIDTH).contains(&x) && (TOP..HEIGHT - BOTTOM).contains(&y) && y > roof, "{x} {y} {roof}");
        }
        let page = html(&Ok(r));
        assert!(page.contains("original: 50 % of the roof") && page.contains("candidate: 90 % of the roof"), "{page}");
        assert!(page.matches("<circle").count() == 2 && !page.contains("NaN") && !page.contains("inf"), "{page}");
    }

    #[test]
    fn without_measured_peaks_there_is_none_and_that_is_said() {
        assert!(html(&Err("peaks were not measured".into())).contains("None: peaks were not measured."));
    }
}

//! The graph as a picture.

use std::fmt::Write as _;

use super::graph::{Edge, Graph, Node};

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 760.0;
const RADIUS: (f64, f64) = (330.0, 255.0);
/// Half the width and height of a node.
const NODE: (f64, f64) = (66.0, 38.0);

/// An SVG of its own: directions on a ring with their skills, an arrow for each transition. Arrows that were tried are as wide
/// as steps they rest on and coloured by the mean reward; those that only the files name are dashed. The same graph gives the
/// same bytes.
pub fn svg(graph: &Graph) -> String {
    let nodes: Vec<&Node> = graph.nodes.iter().filter(|n| !n.name.is_empty()).collect();
    let most = graph.nodes.iter().flat_map(|n| &n.edges).map(|e| e.moments.n).fold(1.0, f64::max);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    let context = if graph.context.is_empty() { "all contexts" } else { &graph.context };
    let _ = writeln!(out, "<text x=\"20\" y=\"26\" font-size=\"15\" font-weight=\"bold\">{}</text>", escape(context));
    legend(&mut out);
    let place = |i: usize| {
        let angle = std::f64::consts::TAU * i as f64 / nodes.len().max(1) as f64 - std::f64::consts::FRAC_PI_2;
        (WIDTH / 2.0 + RADIUS.0 * angle.cos(), HEIGHT / 2.0 + 10.0 + RADIUS.1 * angle.sin())
    };
    // What is only named lies below what was tried.
    for tried in [false, true] {
        for (i, node) in nodes.iter().enumerate() {
            for edge in node.edges.iter().filter(|e| (e.moments.tries > 0) == tried) {
                if let Some(j) = nodes.iter().position(|n| n.name == edge.to) {
                    arrow(&mut out, place(i), place(j), edge, most);
                }
            }
        }
    }
    let first = graph.node("");
    for (i, node) in nodes.iter().enumerate() {
        let begun = first.and_then(|f| f.edges.iter().find(|e| e.to == node.name)).map_or(0, |e| e.moments.tries);
        draw(&mut out, node, place(i), begun);
    }
    out.push_str("</svg>\n");
    out
}

fn legend(out: &mut String) {
    let lines =
        [("#2a7f46", "mean reward above 0"), ("#b3372f", "mean reward below 0"), ("#777777", "tried, no reward known")];
    for (i, (colour, text)) in lines.iter().enumerate() {
        let y = 44.0 + 16.0 * i as f64;
        let _ = writeln!(
            out,
            "<path d=\"M20 {y:.0}h24\" stroke=\"{colour}\" stroke-width=\"3\"/><text x=\"50\" y=\"{:.0}\">{text}</text>",
            y + 4.0
        );
    }
    let _ = writeln!(
        out,
        "<path d=\"M20 92h24\" stroke=\"#aaaaaa\" stroke-dasharray=\"4 3\"/><text x=\"50\" y=\"96\">prior alone</text>"
    );
}

/// A curve to the right of the straight way, so that there and back are two; a loop where both ends are one.
fn arrow(out: &mut String, from: (f64, f64), to: (f64, f64), edge: &Edge, most: f64) {
    let m = &edge.moments;
    let colour = match m.tries {
        0 => "#aaaaaa",
        _ if m.n <= 0.0 => "#777777",
        _ if m.mean >= 0.0 => "#2a7f46",
        _ => "#b3372f",
    };
    let width = if m.tries == 0 { 0.5 + 2.0 * edge.prior } else { 1.5 + 5.0 * (m.n / most) };
    let dash = if m.tries == 0 { " stroke-dasharray=\"4 3\"" } else { "" };
    let (path, tip, heading, middle) = if from == to { turn(from) } else { curve(from, to) };
    let _ = writeln!(out, "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width:.2}\"{dash}/>");
    let size = 5.0 + width;
    let wing = |turned: f64| (tip.0 - size * (heading + turned).cos(), tip.1 - size * (heading + turned).sin());
    let (a, b) = (wing(0.45), wing(-0.45));
    let _ = writeln!(
        out,
        "<path d=\"M{:.1} {:.1}L{:.1} {:.1}L{:.1} {:.1}Z\" fill=\"{colour}\"/>",
        tip.0, tip.1, a.0, a.1, b.0, b.1
    );
    if m.tries > 0 {
        let text = if m.n > 0.0 { format!("{:+.2} ({})", m.mean, m.tries) } else { format!("({})", m.tries) };
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"{colour}\" stroke=\"#ffffff\" stroke-width=\"3\" \
             paint-order=\"stroke\">{text}</text>",
            middle.0, middle.1
        );
    }
}

type Curve = (String, (f64, f64), f64, (f64, f64));

fn curve(from: (f64, f64), to: (f64, f64)) -> Curve {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy).max(1.0);
    let aside = (-dy / length * 34.0, dx / length * 34.0);
    let control = ((from.0 + to.0) / 2.0 + aside.0, (from.1 + to.1) / 2.0 + aside.1);
    let heading = (to.1 - control.1).atan2(to.0 - control.0);
    let start = (control.1 - from.1).atan2(control.0 - from.0);
    let (a, b) = (rim(from, start, 1.0), rim(to, heading + std::f64::consts::PI, 1.06));
    let middle = ((a.0 + 2.0 * control.0 + b.0) / 4.0, (a.1 + 2.0 * control.1 + b.1) / 4.0);
    let path = format!("M{:.1} {:.1}Q{:.1} {:.1} {:.1} {:.1}", a.0, a.1, control.0, control.1, b.0, b.1);
    (path, b, heading, middle)
}

/// The point of a node's outline in a direction, `away` times as far out.
fn rim(at: (f64, f64), angle: f64, away: f64) -> (f64, f64) {
    let r = away / (angle.cos() / NODE.0).hypot(angle.sin() / NODE.1);
    (at.0 + r * angle.cos(), at.1 + r * angle.sin())
}

fn turn(at: (f64, f64)) -> Curve {
    let out = (at.1 - HEIGHT / 2.0).atan2(at.0 - WIDTH / 2.0);
    let (a, d) = (rim(at, out - 0.5, 1.0), rim(at, out + 0.5, 1.06));
    let (b, c) = (rim(at, out - 0.6, 2.1), rim(at, out + 0.6, 2.1));
    let path = format!("M{:.1} {:.1}C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}", a.0, a.1, b.0, b.1, c.0, c.1, d.0, d.1);
    (path, d, (d.1 - c.1).atan2(d.0 - c.0), rim(at, out, 1.95))
}

fn draw(out: &mut String, node: &Node, (x, y): (f64, f64), begun: u64) {
    let m = &node.moments;
    let _ = writeln!(
        out,
        "<ellipse cx=\"{x:.1}\" cy=\"{y:.1}\" rx=\"{}\" ry=\"{}\" fill=\"#eef3f8\" stroke=\"#33506b\" stroke-width=\"{:.1}\">\
         <title>{}</title></ellipse>",
        NODE.0,
        NODE.1,
        1.0 + (1.0 + m.tries as f64).log10(),
        escape(&node.goal)
    );
    let success =
        m.success().map_or("not tried".to_owned(), |s| format!("{} steps, {:.0} % correct", m.tries, 100.0 * s));
    let start = if begun > 0 { format!(", {begun} first") } else { String::new() };
    let mut line = |dy: f64, size: u32, weight: &str, fill: &str, text: &str| {
        let _ = writeln!(
            out,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"{size}\" font-weight=\"{weight}\" fill=\"{fill}\" \
             stroke=\"#ffffff\" stroke-width=\"2\" paint-order=\"stroke\">{}</text>",
            y + dy,
            escape(text)
        );
    };
    line(-6.0, 12, "bold", "#102a43", &node.name);
    line(9.0, 10, "normal", "#102a43", &success);
    if m.n > 0.0 {
        line(22.0, 10, "normal", "#102a43", &format!("reward {:+.2}{start}", m.mean));
    }
    for (i, local) in node.skills.iter().take(4).enumerate() {
        let l = &local.moments;
        let figures = if l.n > 0.0 { format!(" {:+.2} ({})", l.mean, l.tries) } else { String::new() };
        line(50.0 + 13.0 * i as f64, 11, "normal", "#52606d", &format!("{}{figures}", local.skill));
    }
    if node.skills.len() > 4 {
        line(50.0 + 52.0, 11, "normal", "#52606d", &format!("and {} more", node.skills.len() - 4));
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::evidence::tests::sample;
    use super::super::evidence::{Gain, Outcome};
    use super::super::tables::Tables;
    use super::*;
    use crate::skill::Directions;
    use crate::source::FileId;

    #[test]
    fn the_picture_shows_what_was_tried_and_is_well_formed() {
        let directions = Directions::parse(FileId(0), include_str!("../../skills/directions.toml")).unwrap();
        let gain = |g| Outcome::Measured { speedup: Gain::of(g).unwrap() };
        let mut all = vec![
            sample("r", 1, "", "memory-access", gain(1.5)),
            sample("r", 2, "memory-access", "data-reuse", gain(0.8)),
            sample("r", 3, "data-reuse", "data-reuse", Outcome::Correct { estimated: None }),
        ];
        all[0].skill = "a<b&\"c\"".to_owned();
        let tables = Tables::of(&all);
        let graph = Graph::of(&directions, &[], &tables.sums, tables.unit(), "");
        let picture = svg(&graph);
        assert_eq!(picture, svg(&graph.clone()));
        let document = roxmltree::Document::parse(&picture).unwrap();
        let texts: Vec<&str> = document.descendants().filter_map(|n| n.text()).collect();
        for wanted in ["memory-access", "a<b&\"c\" +0.41 (1)", "-0.22 (1)", "(1)", "reward +0.41, 1 first"] {
            assert!(texts.contains(&wanted), "{wanted} in {texts:?}");
        }
        let dashed = document.descendants().filter(|n| n.attribute("stroke-dasharray").is_some()).count();
        let named: usize = directions.iter().map(|d| d.transitions.len()).sum();
        assert_eq!(dashed, named - 2 + 1, "all transitions but the two that were tried, and the legend");
        let none = Graph::of(&Directions::default(), &[], &Default::default(), 1, "");
        assert!(roxmltree::Document::parse(&svg(&none)).is_ok());
    }
}

//! The terminal picture of the README, drawn from real output: `KOPT_BLESS=1 cargo test --test picture` draws it again.

mod cli_common;

use std::fmt::Write as _;
use std::path::Path;

use cli_common::Folder;

const KERNEL: &str = include_str!("../src/cli/demo/attention_rows.cu");
const COMMANDS: [&str; 2] = [
    "check --skill pad_shared --skill shuffle_reduce attention_rows.cu",
    "apply --skill pad_shared --verify none attention_rows.cu",
];

const CHAR: f64 = 8.0;
const LINE: f64 = 17.0;
const MARGIN: f64 = 16.0;

/// One line as runs of text with a colour.
fn runs(line: &str) -> Vec<(&'static str, bool, String)> {
    let mut found = vec![];
    let (mut colour, mut bold) = ("#d0d0d0", false);
    for (i, part) in line.split("\u{1b}[").enumerate() {
        let text = match part.split_once('m').filter(|_| i > 0) {
            None => part,
            Some((codes, text)) => {
                let codes = codes.strip_prefix("38;5;").map_or(codes.to_owned(), |n| format!("bright{n}"));
                for code in codes.split(';') {
                    match code.trim_start_matches('0') {
                        "" => (colour, bold) = ("#d0d0d0", false),
                        "1" => bold = true,
                        "31" | "91" | "bright9" => colour = "#ff7b72",
                        "32" | "92" | "bright10" => colour = "#7ee787",
                        "33" | "93" | "bright11" => colour = "#f2cc60",
                        "34" | "94" | "bright12" => colour = "#79c0ff",
                        "36" | "96" | "bright14" => colour = "#56d4dd",
                        _ => {}
                    }
                }
                text
            }
        };
        if !text.is_empty() {
            found.push((colour, bold, text.to_owned()));
        }
    }
    found
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn draw(lines: &[String]) -> String {
    let visible = |l: &String| runs(l).iter().map(|(_, _, t)| t.chars().count()).sum::<usize>();
    let columns = lines.iter().map(visible).max().unwrap_or(0);
    let (width, height) = (columns as f64 * CHAR + 2.0 * MARGIN, lines.len() as f64 * LINE + 2.0 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">\n<title>kopt check and kopt apply in a terminal</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#161b22\"/>\n\
         <g font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"13\" \
         xml:space=\"preserve\">\n"
    );
    for (row, line) in lines.iter().enumerate() {
        let y = MARGIN + LINE * (row as f64 + 0.8);
        let mut column = 0;
        for (colour, bold, text) in runs(line) {
            let x = MARGIN + CHAR * f64::from(column);
            let count = text.chars().count();
            let weight = if bold { " font-weight=\"bold\"" } else { "" };
            if !text.trim().is_empty() {
                let length = CHAR * count as f64;
                let _ = writeln!(
                    svg,
                    "<text x=\"{x:.0}\" y=\"{y:.1}\" fill=\"{colour}\"{weight} textLength=\"{length:.0}\">{}</text>",
                    escape(&text)
                );
            }
            column += count as i32;
        }
    }
    svg + "</g>\n</svg>\n"
}

#[test]
fn the_picture_shows_what_kopt_prints() {
    let folder = Folder::new(&[("attention_rows.cu", KERNEL)]);
    let mut lines = vec![];
    for command in COMMANDS {
        lines.push(format!("\u{1b}[1m$ kopt {command}\u{1b}[0m"));
        let run = folder.kopt(&format!("--colour always {command}"));
        lines.extend(run.expect(0).out.lines().map(str::to_owned));
        lines.push(String::new());
    }
    let svg = draw(&lines);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/terminal.svg");
    if std::env::var_os("KOPT_BLESS").is_some() {
        std::fs::write(&path, &svg).expect("the picture is written");
    }
    let drawn = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(drawn == svg, "docs/terminal.svg is stale: KOPT_BLESS=1 cargo test --test picture");
}

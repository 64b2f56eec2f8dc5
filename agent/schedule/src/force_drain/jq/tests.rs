use serde_json::{Value, json};

use super::{InvalidProgram, Program, Selected, StepsLeft};

fn pod() -> Value {
    json!({
        "metadata": { "namespace": "shop-dev", "name": "p", "labels": { "tier": "x" } },
        "spec": { "containers": [{ "image": "example/oktodrain:1" }, { "image": "example/other" }] },
    })
}

fn run(program: &str) -> Selected {
    Program::compile(program)
        .unwrap_or_else(|error| panic!("{program}: {error}"))
        .run(&pod(), &mut StepsLeft::default())
}

/// Maintenance schedules, section 4, and the examples of the definition.
#[test]
fn any_true_selects_and_everything_else_does_not() {
    for (program, selects) in [
        (r#".metadata.namespace | test("-dev$")"#, true),
        (r#".spec.containers[] | .image | test("oktodrain")"#, true),
        (
            r#"[.spec.containers[] | .image | test("oktodrain")] | all"#,
            false,
        ),
        ("false, true", true),
        ("false", false),
        ("empty", false),
        ("1, \"true\", {}, null", false),
        (".nothing.there", false),
        ("true, error", true),
        ("true, halt", true),
        ("limit(3; repeat(true))", true),
    ] {
        assert_eq!(run(program) == Selected::Yes, selects, "{program}");
    }
}

#[test]
fn an_error_or_halt_before_any_true_stops_it() {
    for program in ["error, true", "halt, true", ".metadata.name[0]", "\"x\" | error"] {
        assert!(matches!(run(program), Selected::Stopped(_)), "{program}");
    }
    assert_eq!(run("error?, true"), Selected::Yes);
}

#[test]
fn what_selectors_are_made_of_works() {
    for program in [
        ".metadata.labels | has(\"tier\")",
        ".metadata.labels.tier == \"x\"",
        ".spec.containers | length > 1",
        "[.. | strings] | any(test(\"drain\"))",
        "[.spec.containers[].image] | map(startswith(\"example/\")) | all",
        "[.spec.containers[].image] | join(\",\") | test(\"drain:1,example\")",
        "\"\\(.metadata.namespace)/\\(.metadata.name)\" == \"shop-dev/p\"",
        ".metadata as {namespace: $n, $name} | $n == \"shop-dev\" and $name == \"p\"",
        "{a: 1, (\"b\"): 2} | to_entries == [{key: \"a\", value: 1}, {key: \"b\", value: 2}]",
        "1 as $x | {$x} == {x: 1}",
        "def named(n): .metadata.name == n; named(\"p\")",
        "def f(g): g; f(f(true))",
        "if .spec.hostNetwork then false elif .metadata then true else false end",
        ".x // true",
        "try error(\"x\") catch . == \"x\"",
        "label $out | true, break $out",
        "[3, 1, 2] | sort | . == [1, 2, 3] and min == 1 and add == 6",
        "[\"b\", \"a\"] | index(\"a\") == 1 and contains([\"b\"])",
        "\"aXbX\" | gsub(\"X\"; \"\") == \"ab\" and ascii_downcase == \"axbx\"",
        "reduce range(10) as $i (0; . + $i) | . == 45",
        "[range(10; 0; -3)] == [10, 7, 4, 1]",
        "[limit(3; range(1000))] | length == 3",
        "\"ab\" * 2 == \"abab\" and 2 * 3 == 6",
        "[recurse(if . < 3 then . + 1 else empty end)] | length == 0 or true",
        "(.metadata.name | length) as $l | $l == 1",
        "[.spec.containers[] | select(.image | endswith(\":1\"))] | length == 1",
        "@json \"\\(.metadata.name)\" == \"\\\"p\\\"\"",
        "[splits(\"a\"; null)]? // true",
        ".metadata.name | IN(\"p\", \"q\")",
        ".metadata.name | IN(\"q\", \"r\") | not",
        "IN(.spec.containers[].image; \"example/other\")",
        "[paths] | any(. == [\"metadata\", \"labels\", \"tier\"])",
        "[leaf_paths] | length == 5",
        "INDEX(.spec.containers[]; .image) | has(\"example/other\")",
        "\"a b\" | @uri == \"a%20b\" and @base64 == \"YSBi\" and (@base64 | @base64d) == \"a b\"",
        "\"<\" | @html == \"&lt;\"",
        "\"2026-01-05T08:00:00Z\" | fromdate == 1767600000 and (fromdate | todate) == .",
        "\"2026-01-05\" | strptime(\"%Y-%m-%d\") | mktime == 1767571200",
        "9 | sqrt == 3 and pow(.; 2) == 81",
        "\"xax\" | trimstr(\"x\") == \"a\" and (toarray | length) == 1",
        "65 | ascii == \"A\"",
        "debug | debug(\"x\") | .metadata.name == \"p\"",
    ] {
        assert_eq!(run(program), Selected::Yes, "{program}");
    }
}

/// The budget ends everything that is accepted, in little memory: each of these runs for ever, or needs terabytes, without it.
#[test]
fn every_program_ends() {
    for program in [
        "repeat(1)",
        "repeat(error?)",
        "until(false; .)",
        "last(range(1000000000000))",
        "[range(1000000000000)] | length > 1",
        "recurse(.) | false",
        "reduce range(1000) as $i (\"x\"; . + .) | length > 1",
        "\"x\" * 1000000000000 | length > 1",
        "reduce range(1000) as $i (2; . * .) > 1",
        "reduce range(100) as $i (0; [., .]) | tojson | length > 1",
        "reduce range(1000000) as $i (0; [.]) | length > 0",
        "[.. as $a | .. as $b | .. as $c | .. as $d | .. as $e | .. as $f | .. as $g | 1] | length > 1",
        "[range(30000)] as $b | reduce range(30000) as $i (0; if $b == $b then . else . end) | . == 0",
        "reduce range(100) as $i (\"x\"; \"\\(.)\\(.)\") | length > 1",
        "try repeat(1) catch true",
        "[limit(1000000; repeat(\"x\"))] | join(\"\") | length > 1",
        "0 | [recurse(. + 1)] | length > 1",
        "reduce range(1000) as $i (\"x\"; @base64) | length > 1",
        "reduce range(100000) as $i (0; [.]) | [paths] | length > 1",
        "[range(1000)] as $row | [range(300) | $row] | [leaf_paths] | length > 1",
        // Each of these is compiled, and matched, for as long as a thousand usual ones.
        r#"[range(100000) as $i | "x" | test("\\w{9}\($i)")] | length == 0"#,
        // Each match is looked for to the end of the text.
        r#"("x" * 10000) | split("[^y]*y|x"; "g") | length == 0"#,
        r#"("x" * 20000) as $text | [range(100000) | $text | test("(x|y|.){300}z")] | length == 0"#,
    ] {
        let Selected::Stopped(why) = run(program) else {
            panic!("{program} ends");
        };
        assert!(why.contains("steps"), "{program}: {why}");
    }
}

#[test]
fn regular_expressions_are_those_of_jq() {
    for program in [
        r#""a1b22" | [match("[a-z](?<n>\\d+)"; "g") | [.offset, .length, .string, .captures[0].name]] == [[0, 2, "a1", "n"], [2, 3, "b22", "n"]]"#,
        r#""xäöy" | match("ö") | .offset == 2 and .length == 1"#,
        r#""a,b;c" | [splits("[,;]")] == ["a", "b", "c"]"#,
        r#""a.b.c" | split("\\."; null) == ["a", "b", "c"]"#,
        r#""abcabc" | sub("b"; "X") == "aXcabc" and gsub("(?<l>b)"; "<\(.l)>") == "a<b>ca<b>c""#,
        r#""a-b" | capture("(?<x>\\w)-(?<y>\\w)") == {"x": "a", "y": "b"}"#,
        r#""AB" | test("ab"; "i") and (test("a b"; "ix")) and (test("ab") | not)"#,
        r#""test" | [scan("t")] == ["t", "t"]"#,
        r#""" | [match(""; "gn")] == []"#,
        r#""a_1" | test("^\\w{1,63}$")"#,
    ] {
        assert_eq!(run(program), Selected::Yes, "{program}");
    }
    for (program, why) in [
        (r#""a" | test("(")"#, "invalid regex"),
        (r#""a" | test("a"; "q")"#, "invalid regex flag: q"),
        (r#""a" | test("(\\w{90}){30}")"#, "too large"),
        (r#"1 | test("a")"#, ""),
    ] {
        let Selected::Stopped(said) = run(program) else {
            panic!("{program} is not stopped");
        };
        assert!(said.contains(why), "{program}: {said}");
    }
}

/// Many pods take no more than some: the others are left alone, and that is said.
#[test]
fn the_pods_of_a_pass_share_what_programs_may_do() {
    let program = Program::compile("last(range(900000)) | false").unwrap();
    let mut steps = StepsLeft::default();
    let mut run = || program.run(&pod(), &mut steps);
    let ended = (0..100).take_while(|_| run() == Selected::No).count();
    assert!((10..100).contains(&ended), "{ended}");
    assert!(matches!(run(), Selected::Stopped(why) if why.contains("other pods")));
}

/// Recursion at the end of a definition takes no stack, whatever pays before it.
#[test]
fn deep_recursion_takes_no_stack() {
    for program in [
        "0 | until(. == 30000; . + 1) | . == 30000",
        "[0 | recurse(if . < 30000 then . + 1 else empty end)] | length == 30001",
        "[0 | while(. < 30000; . + 1)] | length == 30000",
    ] {
        assert_eq!(run(program), Selected::Yes, "{program}");
    }
}

#[test]
fn what_cannot_be_bounded_or_is_not_there_is_refused() {
    let recursive = |name: &str| InvalidProgram::Recursive(name.to_owned());
    let unknown = |name: &str| InvalidProgram::Unknown(name.to_owned());
    for (program, error) in [
        (".a |", InvalidProgram::Syntax),
        ("import \"a\" as a; true", InvalidProgram::Syntax),
        ("def f: f; f", recursive("f")),
        ("def f: 1 + f; f", recursive("f")),
        ("def a: def b: a; b; a", recursive("a")),
        ("def f(g): [f(g)]; f(.)", recursive("f")),
        ("def f: {(f): 1}; f", recursive("f")),
        ("def f: . as {(f): $x} | $x; f", recursive("f")),
        ("def f: .[f]; f", recursive("f")),
        ("def f: \"\\(f)\"; f", recursive("f")),
        (".a = 1 | true", InvalidProgram::Assigns),
        ("[.a |= 1] | true", InvalidProgram::Assigns),
        (".a += 1 | true", InvalidProgram::Assigns),
        ("now > 1", unknown("now")),
        ("env | true", unknown("env")),
        ("$ENV | true", unknown("$ENV")),
        ("input", unknown("input")),
        ("del(.a) | true", unknown("del")),
        ("nothing", unknown("nothing")),
        ("def __charge: .; true", unknown("__charge")),
        ("def f(__spend): .; true", unknown("__spend")),
    ] {
        assert_eq!(Program::compile(program).unwrap_err(), error, "{program}");
    }
}

#[test]
fn it_comes_to_the_same_each_time() {
    let program = Program::compile("[range(1000)] | length == 1000").unwrap();
    assert_eq!(
        program.run(&pod(), &mut StepsLeft::default()),
        program.run(&pod(), &mut StepsLeft::default())
    );
}

#[test]
fn programs_that_are_nested_deep_are_read_and_run_or_refused_and_never_overflow() {
    let pod = json!({"metadata": {"namespace": "ns149"}});
    let terms: Vec<String> = (0..150)
        .map(|number| format!(".metadata.namespace == \"ns{number}\""))
        .collect();
    let selector = terms.join(" or ");
    assert_eq!(
        Program::compile(&selector)
            .unwrap()
            .run(&pod, &mut StepsLeft::default()),
        Selected::Yes
    );
    for (open, middle, close, count) in [
        ("(", "true", ")", 4000),
        ("[", "1", "]", 4000),
        ("1+", "1", "", 4000),
        (".|", ".", "", 4000),
    ] {
        let program = [&open.repeat(count), middle, &close.repeat(count)].concat();
        if let Ok(program) = Program::compile(&program) {
            program.run(&pod, &mut StepsLeft::default());
        }
    }
    let long = "(".repeat(100_000);
    assert_eq!(Program::compile(&long).unwrap_err(), InvalidProgram::TooLong);
    for program in [
        "reduce range(100000) as $i (0; [.])",
        "(\"[\" * 100000) | try fromjson catch .",
    ] {
        if let Ok(program) = Program::compile(program) {
            program.run(&pod, &mut StepsLeft::default());
        }
    }
}

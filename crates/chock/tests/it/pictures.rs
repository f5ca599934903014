//! Pictures: told by their content, read in the cage, kept beside the log, and put where each wire wants them.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::fake::Fake;
use crate::yard::Yard;

/// A whole PNG of one pixel, in so many bytes.
pub(crate) fn png(bytes: usize) -> Vec<u8> {
    let mut png =
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90wS\xde".to_vec();
    png.resize(bytes.max(45) - 12, 0);
    png.extend(b"\0\0\0\0IEND\xaeB`\x82");
    png
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn configure(yard: &Yard, fake: &Fake, kind: &str, more: &str) {
    let base_url = match kind {
        "openai" => format!(".base_url = \"http://127.0.0.1:{}/v1\"", fake.port),
        _ => format!(".base_url = \"http://127.0.0.1:{}/v1\"", fake.port),
    };
    yard.config(&format!(
        ".{{ .providers = .{{ .{{ .name = \"fake\", .kind = \"{kind}\", {base_url}, .token = \"test-token-123456\", .model = \"fake-1\"{more} }} }} }}"
    ));
}

const IMAGES: &str = ", .capabilities = .{ .images = true }";

fn look(path: &str) -> Value {
    json!({ "name": "read_image", "input": { "path": path } })
}

fn bodies(fake: &Fake) -> Vec<Value> {
    let body = |request: &Value| request.get("body").unwrap_or(request).clone();
    fake.requests().iter().map(body).collect()
}

#[test]
fn a_picture_goes_where_each_wire_wants_it_and_is_kept_beside_the_log() {
    for kind in ["openai-compat", "anthropic", "openai"] {
        let yard = Yard::new();
        let (small, large) = (png(60), png(3 << 20));
        fs::write(yard.project().join("not by its name.txt"), &small).expect("a file");
        fs::write(yard.project().join("large.png"), &large).expect("a file");
        yard.commit();
        let shown = yard.path("shown.png");
        fs::write(&shown, png(70)).expect("a file");
        let turns = json!({ "turns": [
            { "tools": [look("not by its name.txt"), look("a.txt"), look("large.png")] },
            { "text": "seen" }, { "text": "and again" } ] });
        let fake = Fake::script(&turns, &yard.path("."));
        configure(&yard, &fake, kind, IMAGES);
        let words = ["run", "--image", shown.to_str().expect("text"), "what is this?"];
        yard.chock(&words).expect(0);
        yard.chock(&["run", "--continue", "and now?"]).expect(0);
        fake.expect_finished();

        let bodies = bodies(&fake);
        let parts = |at: usize| bodies[at]["messages"].clone();
        let (first, second) = match kind {
            "openai" => (bodies[0]["input"].clone(), bodies[1]["input"].clone()),
            _ => (parts(0), parts(1)),
        };
        assert!(first.to_string().contains(&base64(&png(70))), "{first}");
        let again = bodies[2].to_string();
        for picture in [&png(70), &small, &large] {
            assert!(second.to_string().contains(&base64(picture)), "{kind}: a picture is missing");
            assert!(again.contains(&base64(picture)), "{kind}: a later run lost a picture");
        }
        let place = match kind {
            "anthropic" => second[2]["content"][0]["content"][1]["source"]["data"].clone(),
            "openai" => {
                let items = second.as_array().expect("items");
                let output =
                    items.iter().find(|item| item["type"] == "function_call_output").expect("it");
                output["output"][1]["image_url"].clone()
            }
            _ => {
                let roles: Vec<_> = second.as_array().expect("messages").iter().collect();
                let roles: Vec<_> = roles.iter().map(|it| it["role"].clone()).collect();
                assert_eq!(roles[2..], ["assistant", "tool", "tool", "tool", "user"]);
                second[6]["content"][1]["image_url"]["url"].clone()
            }
        };
        let place = place.as_str().expect("a picture in its place").to_owned();
        assert!(place.ends_with(&base64(&small)), "{kind}: {place}");

        let outcomes = yard.outcomes();
        let words = outcomes[1]["text"].as_str().expect("words");
        assert!(words.contains("cannot show `a.txt`: it is no picture"), "{words}");
        assert_eq!(outcomes[0]["pictures"][0]["media_type"], "image/png");
        let log = yard.logs().pop().expect("a log");
        assert!(!fs::read_to_string(&log).expect("a log").contains(&base64(&small)), "in the log");
        let hash = outcomes[0]["pictures"][0]["hash"].as_str().expect("a hash").to_owned();
        let kept = log.with_extension("pictures").join(hash);
        assert_eq!(fs::read(&kept).expect("a picture"), small);
        // One that is gone or was changed is said to be, and the session goes on.
        let gone = json!({ "turns": [{ "text": "fine" }] });
        let fake = Fake::script(&gone, &yard.path("."));
        configure(&yard, &fake, kind, IMAGES);
        fs::write(&kept, png(61)).expect("a change");
        yard.chock(&["run", "--continue", "still there?"]).expect(0);
        fake.expect_finished();
        let last = fake.requests().pop().expect("a request").to_string();
        assert!(
            !last.contains(&base64(&png(61))) && last.contains("it is no longer kept"),
            "{kind}"
        );
        yard.chock(&["sessions", "remove", "--yes", &id(&log)]).expect(0);
        assert!(!log.with_extension("pictures").exists(), "the pictures stayed");
    }
}

fn id(log: &std::path::Path) -> String {
    log.file_stem().expect("a name").to_string_lossy().into_owned()
}

#[test]
fn a_model_that_takes_no_pictures_is_offered_and_sent_none() {
    let yard = Yard::new();
    fs::write(yard.project().join("a.png"), png(60)).expect("a file");
    yard.commit();
    let turns = json!({ "turns": [{ "tools": [look("a.png")] }, { "text": "seen" }] });
    let fake = Fake::script(&turns, &yard.path("."));
    configure(&yard, &fake, "openai-compat", IMAGES);
    yard.chock(&["run", "go"]).expect(0);
    fake.expect_finished();
    // The session goes on with a model that takes none.
    let fake = Fake::script(&json!({ "turns": [{ "text": "fine" }] }), &yard.path("."));
    configure(&yard, &fake, "openai-compat", "");
    let ran = yard.chock(&["run", "--continue", "--image", "a.png", "see"]).expect(1);
    assert!(ran.err.contains(".capabilities = .{ .images = true }"), "{}", ran.err);
    yard.chock(&["run", "--continue", "go on"]).expect(0);
    fake.expect_finished();
    let body = bodies(&fake).pop().expect("a request").to_string();
    assert!(
        !body.contains("\"read_image\",\"parameters\"") && !body.contains("image_url"),
        "{body}"
    );
    assert!(body.contains("this model takes no pictures"), "{body}");
}

#[test]
fn a_picture_that_cannot_be_shown_is_refused_before_anything_starts() {
    let yard = Yard::new();
    fs::write(yard.path("secret"), "hunter2").expect("a file");
    fs::write(yard.path("real.png"), png(60)).expect("a file");
    symlink(yard.path("real.png"), yard.project().join("link.png")).expect("a link");
    fs::write(yard.project().join("text.png"), "words").expect("a file");
    fs::write(yard.project().join("large.png"), png((3 << 20) + 1)).expect("a file");
    let fake = Fake::script(&json!({ "turns": [{ "text": "never" }] }), &yard.path("."));
    configure(&yard, &fake, "openai-compat", IMAGES);
    for (name, words) in [
        ("link.png", "it is a link"),
        ("text.png", "it is no picture"),
        ("large.png", "over 3145728 bytes"),
        ("absent.png", "No such file"),
        (".", "it is no file"),
    ] {
        let ran = yard.chock(&["run", "--image", name, "look"]).expect(1);
        assert!(ran.err.contains(words), "{name}: {}", ran.err);
    }
    assert_eq!((bodies(&fake).len(), yard.logs().len()), (0, 0));
}

#[test]
fn what_is_denied_is_not_shown_and_a_fork_keeps_its_pictures() {
    let yard = Yard::new();
    fs::write(yard.project().join("a.png"), png(60)).expect("a file");
    fs::write(yard.project().join("secret.png"), png(80)).expect("a file");
    yard.write("chock.zon", ".{ .deny_read = .{ \"secret.png\" } }\n");
    yard.commit();
    let both = json!({ "tools": [look("secret.png"), look("a.png")] });
    let turns = json!({ "turns": [both, { "text": "seen" }] });
    let fake = Fake::script(&turns, &yard.path("."));
    configure(&yard, &fake, "anthropic", IMAGES);
    yard.chock(&["run", "go"]).expect(0);
    fake.expect_finished();
    assert_eq!(yard.outcomes()[0]["ended"], "denied");
    let requests = bodies(&fake).last().expect("a request").to_string();
    assert!(!requests.contains(&base64(&png(80))), "a denied picture was shown");

    let parent = yard.logs().pop().expect("a log");
    let fake = Fake::script(&json!({ "turns": [{ "text": "fine" }] }), &yard.path("."));
    configure(&yard, &fake, "anthropic", IMAGES);
    yard.chock(&["fork", &id(&parent), "--at", "2", "go on"]).expect(0);
    fake.expect_finished();
    let request = bodies(&fake).pop().expect("a request").to_string();
    assert!(request.contains(&base64(&png(60))), "the fork lost a picture");
}

#[test]
fn a_picture_that_the_provider_refuses_does_not_stop_the_conversation() {
    for kind in ["openai-compat", "anthropic", "openai"] {
        let yard = Yard::new();
        fs::write(yard.project().join("good.png"), png(60)).expect("a file");
        fs::write(yard.project().join("bad.png"), png(90)).expect("a file");
        yard.commit();
        let (good, bad) = (base64(&png(60)), base64(&png(90)));
        let turns = json!({ "undecodable": [&bad], "turns": [
            { "tools": [look("good.png")] }, { "tools": [look("bad.png")] }, { "text": "seen" },
            { "text": "and on" } ] });
        let fake = Fake::script(&turns, &yard.path("."));
        configure(&yard, &fake, kind, IMAGES);
        let ran = yard.chock(&["run", "look"]).expect(0);
        assert!(ran.err.contains("the provider refused a picture"), "{kind}: {}", ran.err);
        yard.chock(&["run", "--continue", "go on"]).expect(0);
        let state = fake.state();
        assert_eq!(state["finished"], true, "{kind}: {state}");
        // It was refused once, and not tried again.
        assert_eq!(state["problems"].as_array().map(Vec::len), Some(1), "{kind}: {state}");
        for body in &bodies(&fake)[3..] {
            let body = body.to_string();
            assert!(body.contains(&good) && !body.contains(&bad), "{kind}: {body}");
            assert!(body.contains("is not shown here: the provider refused it"), "{kind}: {body}");
        }
        // With no picture to leave out, such a refusal ends the run as before.
        let fault = json!({ "kind": "http", "status": 400, "type": "application/json",
            "body": "{\"error\":{\"message\":\"no image today\"}}" });
        let fake = Fake::script(&json!({ "turns": [{ "fault": fault }] }), &yard.path("."));
        configure(&yard, &fake, kind, "");
        let ran = yard.chock(&["run", "another"]).expect(2);
        assert!(ran.err.contains("no image today"), "{kind}: {}", ran.err);
    }
}

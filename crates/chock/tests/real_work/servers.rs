//! A server that one call starts and later calls use.

use serde_json::{Value, json};

use crate::job::{Job, everybody};

/// Serves what the file says now, as a server that watches a project does.
const SERVER: &str = "const http = require('http');\nconst fs = require('fs');\n\
    const server = http.createServer((request, answer) => answer.end(fs.readFileSync('page.txt')));\n\
    server.listen(0, '127.0.0.1', () => fs.writeFileSync('port', String(server.address().port)));\n";

/// Waits for the server, and prints what it serves.
const FETCH: &str = "for i in $(seq 200); do test -s port && break; sleep 0.05; done; \
    node -e \"fetch('http://127.0.0.1:' + require('fs').readFileSync('port')).then(a => a.text()).then(console.log)\"";

#[test]
fn a_development_server_answers_later_calls() {
    let job = Job::new("dev server")
        .needs("node")
        .file("server.js", SERVER)
        .file("page.txt", "first words\n");
    let change = format!("echo 'second words' > page.txt; {FETCH}");
    for who in everybody() {
        let Some(workshop) = job.yard(who) else { continue };
        let control = format!("node server.js & {FETCH}; {change}; kill $!");
        let control = workshop.outside(&control).expect(0);
        assert!(control.out.contains("first words") && control.out.contains("second words"));

        let call = |input: Value| json!({ "name": "run_command", "input": input });
        workshop.scripted(&json!({ "turns": [
            { "tools": [call(json!({ "command": "node server.js", "background": true }))] },
            { "tools": [call(json!({ "command": FETCH }))] },
            { "tools": [call(json!({ "command": change }))] },
            { "text": "done" } ] }));
        let ran = workshop.inside(&["run", "x"]).expect(0);
        let outcomes = workshop.yard.outcomes();
        let words = |number: usize| outcomes[number]["text"].as_str().expect("text").to_owned();
        assert!(words(1).contains("first words"), "{outcomes:?} {}", ran.err);
        assert!(words(2).contains("second words"), "{outcomes:?} {}", ran.err);
    }
}

//! Node and npm.

use crate::job::Job;

const APP: &str = r#"
const { Worker, isMainThread, parentPort } = require('worker_threads');
const http = require('http');
const { execFileSync } = require('child_process');
if (!isMainThread) {
  parentPort.once('message', n => parentPort.postMessage(n * 2));
} else {
  const worker = new Worker(__filename);
  worker.once('message', doubled => {
    const server = http.createServer((request, answer) => answer.end(`got ${doubled}`));
    server.listen(0, async () => {
      const reply = await fetch(`http://localhost:${server.address().port}/`);
      console.log(await reply.text(), execFileSync('echo', ['child']).toString().trim());
      server.close();
      worker.terminate();
    });
  });
  worker.postMessage(21);
}
"#;

#[test]
fn node_runs_workers_children_and_an_http_server() {
    Job::new("node").needs("node").file("app.js", APP).runs("node app.js", "got 42 child");
}

#[test]
fn node_watches_files_and_runs_tests() {
    let test = "const test = require('node:test');\nconst assert = require('node:assert');\n\
                const fs = require('fs');\n\
                test('a change is seen', async () => {\n  fs.writeFileSync('watched', '1');\n  \
                const seen = new Promise(done => fs.watch('watched', done));\n  \
                const again = setInterval(() => fs.writeFileSync('watched', '2'), 50);\n  \
                await seen;\n  clearInterval(again);\n  setImmediate(() => process.exit(0));\n});\n";
    Job::new("node --test")
        .needs_that("node --test --version")
        .file("watch.test.js", test)
        .runs("timeout 60 node --test watch.test.js && echo passed", "passed");
}

#[test]
fn npm_installs_a_tarball_and_runs_what_it_brought() {
    Job::new("npm")
        .needs("npm")
        .file(
            "leaf/package.json",
            r#"{ "name": "leaf", "version": "1.0.0", "bin": { "leaf": "leaf.js" } }"#,
        )
        .file("leaf/leaf.js", "#!/usr/bin/env node\nconsole.log('a leaf');\n")
        .file(
            "app/package.json",
            r#"{ "name": "app", "version": "1.0.0", "scripts": { "test": "leaf" } }"#,
        )
        .runs(
            "cd leaf && npm pack --silent && cd ../app && \
             npm install --offline --no-audit --no-fund ../leaf/leaf-1.0.0.tgz && \
             npm test && npm ci --offline --no-audit --no-fund && npx --offline leaf",
            "a leaf",
        );
}

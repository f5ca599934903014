//! A headless browser on a page of a local server, its inner sandbox off.

use crate::job::Job;

const SERVER: &str = "import http.server, threading, subprocess, sys, shutil\n\
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n\
    threading.Thread(target=server.serve_forever, daemon=True).start()\n\
    names = ('chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable')\n\
    browser = next(filter(None, map(shutil.which, names)))\n\
    words = [browser, '--headless', '--no-sandbox', '--disable-gpu', '--dump-dom', \
    f'http://127.0.0.1:{server.server_port}/page.html']\n\
    sys.exit(subprocess.run(words, timeout=120).returncode)\n";

const PAGE: &str = "<!doctype html><title>x</title><p id=p>static</p>\
                    <script>document.getElementById('p').textContent = 'drawn ' + 6 * 7</script>\n";

#[test]
fn a_headless_browser_draws_a_page_of_a_local_server() {
    Job::new("chromium")
        .needs_that(
            "command -v chromium || command -v chromium-browser || command -v google-chrome",
        )
        .needs("python3")
        .file("serve.py", SERVER)
        .file("page.html", PAGE)
        .runs("python3 serve.py", "drawn 42");
}

//! Python: a virtual environment, a wheel made by hand, tests and processes.

use crate::job::Job;

const WHEEL: &str = r#"
import zipfile
files = {
    'leaf.py': "def word():\n    return 'a leaf'\n",
    'leaf-1.0.dist-info/METADATA': 'Metadata-Version: 2.1\nName: leaf\nVersion: 1.0\n',
    'leaf-1.0.dist-info/WHEEL': 'Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
}
record = 'leaf-1.0.dist-info/RECORD'
files[record] = ''.join(f'{name},,\n' for name in [*files, record])
with zipfile.ZipFile('leaf-1.0-py3-none-any.whl', 'w') as wheel:
    for name, text in files.items():
        wheel.writestr(name, text)
"#;

const TEST: &str = r#"
import asyncio, multiprocessing, os, pty, sqlite3, subprocess, tempfile, threading, unittest
import leaf


def double(n):
    return n * 2


class Work(unittest.TestCase):
    def test_wheel(self):
        self.assertEqual(leaf.word(), 'a leaf')

    def test_processes(self):
        for way in ('fork', 'forkserver', 'spawn'):
            with multiprocessing.get_context(way).Pool(2) as pool:
                self.assertEqual(pool.map(double, [1, 2, 3]), [2, 4, 6], way)

    def test_shared(self):
        lock, value = multiprocessing.Lock(), multiprocessing.Value('i', 0)
        with lock, value.get_lock():
            value.value += 1
        self.assertEqual(value.value, 1)

    def test_asyncio(self):
        async def talk():
            async def answer(reader, writer):
                writer.write(await reader.readline())
                await writer.drain()
                writer.close()
            server = await asyncio.start_server(answer, '127.0.0.1', 0)
            port = server.sockets[0].getsockname()[1]
            reader, writer = await asyncio.open_connection('127.0.0.1', port)
            writer.write(b'line\n')
            line = await reader.readline()
            writer.close()
            server.close()
            return line
        self.assertEqual(asyncio.run(talk()), b'line\n')

    def test_terminal(self):
        child, main = pty.fork()
        if child == 0:
            os.execvp('sh', ['sh', '-c', 'test -t 0 && echo terminal'])
        self.assertIn(b'terminal', os.read(main, 100))
        os.waitpid(child, 0)

    def test_database(self):
        with tempfile.TemporaryDirectory() as directory:
            base = sqlite3.connect(os.path.join(directory, 'x.db'))
            base.execute('create table t(a)')
            base.execute('insert into t values (1)')
            base.commit()
            self.assertEqual(base.execute('select count(*) from t').fetchone(), (1,))

    def test_child(self):
        done = subprocess.run(['cat'], input=b'x' * 200_000, capture_output=True, check=True)
        self.assertEqual(len(done.stdout), 200_000)


if __name__ == '__main__':
    unittest.main()
"#;

#[test]
fn a_virtual_environment_takes_a_wheel_and_runs_tests_and_processes() {
    Job::new("python venv")
        .needs_that("python3 -c 'import ensurepip, venv, sqlite3'")
        .file(".gitignore", "venv/\n")
        .file("wheel.py", WHEEL)
        .file("test_work.py", TEST)
        .runs(
            "python3 wheel.py && python3 -m venv venv && \
             venv/bin/pip install -q --no-index --disable-pip-version-check leaf-1.0-py3-none-any.whl && \
             venv/bin/python -m unittest -q test_work && . venv/bin/activate && \
             python -c 'import leaf; print(leaf.word())'",
            "a leaf",
        );
}

#[test]
fn the_standard_library_works() {
    Job::new("python3")
        .needs("python3")
        .file("leaf.py", "def word():\n    return 'a leaf'\n")
        .file("test_work.py", TEST)
        .runs("python3 -m unittest -q test_work && echo passed", "passed");
}

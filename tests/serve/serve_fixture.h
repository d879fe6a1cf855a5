// A server that is the program itself, and its clients.
#pragma once

#include <fstream>
#include <string>

#include "front/front_test.h"
#include "h5mount/serve/server.h"

namespace h5mount::test {

// Statements for tests: a server of files, and requests over sockets without a library that would mend them.
inline constexpr const char* kPrelude = R"(

import gzip, http.client, signal, socket, threading, urllib.parse, urllib.request
class Serve:
    def __init__(self, *words):
        time.sleep(0.1)  # the tags of a file that was written just now change with every answer
        self.process = subprocess.Popen([os.environ['H5MOUNT'], '--serve', '0', *words],
                                        stdout=subprocess.PIPE, stderr=open('serve.err', 'w'), text=True)
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith('http://'), open('serve.err').read()
        self.host, self.port = self.url[7:].split('/')[0].rsplit(':', 1)
    def __enter__(self): return self
    def __exit__(self, *_): self.end()
    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None: self.process.send_signal(how)
        return self.process.wait(60)
    def request(self, method, target, **fields):
        connection = http.client.HTTPConnection('127.0.0.1', int(self.port), timeout=60)
        connection.request(method, target, headers={k.replace('_', '-'): v for k, v in fields.items()})
        answer = connection.getresponse()
        answer.data = answer.read()
        return answer
    def get(self, target, **fields): return self.request('GET', target, **fields)
    def json(self, target): return json.loads(self.get(target).data)
    # Where a redirect leads; it is relative, so that it is right below any directory of a proxy.
    def location(self, target):
        answer = self.get(target)
        assert answer.status == 307, (target, answer.status)
        to = answer.headers['Location']
        assert to.startswith('.'), to
        there = [urllib.parse.urljoin('http://h%s%s' % (above, target), to) for above in ('', '/proxy/h5')]
        assert there[1] == there[0].replace('http://h', 'http://h/proxy/h5'), (target, to)
        return there[0].removeprefix('http://h')
)";

class ServeCommand : public FrontTest {
 protected:
  void SetUp() override {
    if (!serve::can_serve()) GTEST_SKIP() << "built without libmicrohttpd";
    FrontTest::SetUp();
  }
  void check(const std::string& statements) const {
    // As a file, so that a failure shows its line.
    std::ofstream(place / "test.py") << "import h5py, json, numpy as np, os, subprocess, sys, time"
                                     << kPrelude << statements;
    const Outcome out = in("/usr/bin/python3 test.py");
    EXPECT_EQ(out.code, 0) << out.err;
  }
  void write_example() const {
    write(R"(
f.attrs['title'] = 'root'
f['x'] = np.arange(1000, dtype='<i4')
f['x'].attrs['units'] = 'K'
f['group/image'] = np.arange(60, dtype='<f4').reshape(6, 10)
f['group'].attrs['note'] = '<b>'
f['group/root_again'] = f['/']
f['names'] = ['one', 'two,"2"', '<script>']
f['soft'] = h5py.SoftLink('/group')
f['to_x'] = h5py.SoftLink('/x')
f['dangling'] = h5py.SoftLink('/nowhere')
f['empty'] = np.zeros(0)
f.create_dataset('deflated', data=np.arange(100000) % 7, chunks=(1000,), compression='gzip')
)");
  }
};

}  // namespace h5mount::test

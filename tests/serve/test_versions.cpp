// Every answer of --serve is of one version of its file.
#include "serve_fixture.h"

namespace h5mount::test {
namespace {

// Of a file that is written meanwhile no body ends as a whole one; of one that is renamed over it is the old.
TEST_F(ServeCommand, ABodyIsOfOneVersionOfTheFile) {
  check(R"(
N = 96 << 20
def write(name, fill):
    with h5py.File(name, 'w') as f:
        f['d'] = np.full(N, fill, 'u1')
        f.create_dataset('chunked', data=np.full(N, fill, 'u1'), chunks=(1 << 20,))
def begin(s, target):
    c = http.client.HTTPConnection('127.0.0.1', int(s.port), timeout=60)
    c.connect(); c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    c.request('GET', target)
    a = c.getresponse()
    assert a.status == 200 and int(a.headers['Content-Length']) == N
    return c, a, a.read(1000)
for target in ('/d', '/chunked'):
    write('f.h5', 1)
    with Serve('f.h5') as s:
        a = s.get(target)
        assert a.data == b'\1' * N and a.headers.get_all('Content-Length') == [str(N)]
        c, a, first = begin(s, target)
        with h5py.File('new.h5', 'w') as f: f['d'] = 2
        os.rename('new.h5', 'f.h5')
        assert first + a.read() == b'\1' * N, target
        assert s.get('/d').data == np.int64(2).tobytes()
    write('f.h5', 1)
    with Serve('f.h5') as s:
        assert s.get(target).data == b'\1' * N
        c, a, first = begin(s, target)
        with h5py.File('f.h5', 'r+') as f: f[target][:] = 3
        try: a.read(); assert False, 'a body of two versions must not look whole'
        except http.client.IncompleteRead: pass
)");
}

}  // namespace
}  // namespace h5mount::test

// Programs that read from S3, as people use them: they read what a mount shows.
#include "serve_fixture.h"

namespace h5mount::test {
namespace {

constexpr const char* kBoto = R"(
import boto3, botocore, io
from botocore.config import Config
KEY, SECRET = 'reader', 'a_secret_of_the_tests'
open('key', 'w').write(KEY + ':' + SECRET + '\n'); os.chmod('key', 0o600)
def client(s, key=None, **more):
    config = Config(s3={'addressing_style': 'path'}, retries={'max_attempts': 1}, **more)
    return boto3.client('s3', endpoint_url=s.url, region_name='us-east-1', config=config,
                        aws_access_key_id=key or KEY, aws_secret_access_key=SECRET)
)";

class S3Clients : public ServeCommand {
 protected:
  void SetUp() override {
    ServeCommand::SetUp();
    if (!IsSkipped()) write_example();
  }
  bool has(const std::string& program) const { return in("command -v " + program).code == 0; }
  bool imports(const std::string& modules) const {
    return in("/usr/bin/python3 -c 'import " + modules + "'").code == 0;
  }
};

TEST_F(S3Clients, BotoListsReadsAndPresigns) {
  if (!imports("boto3")) GTEST_SKIP() << "no python3-boto3";
  check(std::string(kBoto) + R"(
with Serve('--s3', '--s3-key-file=key', 'f.h5') as s, h5py.File('f.h5') as f:
    c = client(s)
    assert [b['Name'] for b in c.list_buckets()['Buckets']] == ['f.h5']
    assert c.get_bucket_location(Bucket='f.h5')['LocationConstraint'] is None
    c.head_bucket(Bucket='f.h5')
    pages = c.get_paginator('list_objects_v2').paginate(Bucket='f.h5', PaginationConfig={'PageSize': 2})
    found = {o['Key']: o['Size'] for p in pages for o in p['Contents']}
    assert sorted(found) == ['deflated', 'empty', 'group/image', 'names', 'to_x', 'x'], found
    pages = c.get_paginator('list_objects').paginate(Bucket='f.h5', PaginationConfig={'PageSize': 1})
    assert {o['Key']: o['Size'] for p in pages for o in p['Contents']} == found
    for key, size in found.items():
        a = c.get_object(Bucket='f.h5', Key=key)
        assert len(a['Body'].read()) == size == a['ContentLength'], key
    a = c.head_object(Bucket='f.h5', Key='x')
    assert a['Metadata']['units'] == 'K' and a['LastModified'].year >= 2020, a
    whole = f['deflated'][()].tobytes()
    tag = c.head_object(Bucket='f.h5', Key='deflated')['ETag']
    a = c.get_object(Bucket='f.h5', Key='deflated', Range='bytes=100-299', IfMatch=tag)
    assert a['Body'].read() == whole[100:300]
    out = io.BytesIO(); c.download_fileobj('f.h5', 'deflated', out)
    assert out.getvalue() == whole
    for call, code in ((lambda: c.get_object(Bucket='f.h5', Key='nothing'), 'NoSuchKey'),
                       (lambda: c.list_objects_v2(Bucket='other'), 'NoSuchBucket'),
                       (lambda: c.put_object(Bucket='f.h5', Key='new', Body=b'new'), 'MethodNotAllowed'),
                       (lambda: c.delete_object(Bucket='f.h5', Key='x'), 'MethodNotAllowed'),
                       (lambda: client(s, 'other').list_buckets(), 'InvalidAccessKeyId')):
        try: call(); assert False, code
        except botocore.exceptions.ClientError as e: assert e.response['Error']['Code'] == code, e
    image = {'Bucket': 'f.h5', 'Key': 'group/image'}
    url = client(s, signature_version='s3v4').generate_presigned_url('get_object', Params=image, ExpiresIn=60)
    assert urllib.request.urlopen(url).read() == f['group/image'][()].tobytes()
with Serve('--s3', 'f.h5') as s, h5py.File('f.h5') as f:
    c = client(s, signature_version=botocore.UNSIGNED)
    assert c.get_object(Bucket='f.h5', Key='x')['Body'].read() == f['x'][()].tobytes()
    assert client(s).get_object(Bucket='f.h5', Key='x')['Body'].read() == f['x'][()].tobytes()
)");
}

TEST_F(S3Clients, AwsListsAndCopies) {
  if (!has("/usr/bin/aws")) GTEST_SKIP() << "no awscli";
  check(R"(
def aws(s, *words):
    more = {'AWS_ACCESS_KEY_ID': 'reader', 'AWS_SECRET_ACCESS_KEY': 'a_secret_of_the_tests',
            'HOME': os.getcwd(), 'AWS_DEFAULT_REGION': 'us-east-1', 'AWS_EC2_METADATA_DISABLED': 'true'}
    out = subprocess.run(['/usr/bin/aws', '--endpoint-url', s.url, 's3', *words], capture_output=True,
                         env={**os.environ, **more}, timeout=300)
    assert out.returncode == 0, out.stderr
    return out.stdout
open('key', 'w').write('reader:a_secret_of_the_tests\n'); os.chmod('key', 0o600)
with Serve('--s3', '--s3-key-file=key', 'f.h5') as s, h5py.File('f.h5') as f:
    assert b'f.h5' in aws(s, 'ls')
    said = aws(s, 'ls', '--recursive', 's3://f.h5/').decode()
    keys = ['deflated', 'empty', 'group/image', 'names', 'to_x', 'x']
    assert [l.split()[3] for l in said.splitlines()] == keys, said
    assert aws(s, 'cp', 's3://f.h5/x', '-') == f['x'][()].tobytes()
    aws(s, 'sync', 's3://f.h5/.h5/npy/', 'npy')
    assert (np.load('npy/group/image.npy') == f['group/image'][()]).all()
)");
}

// Several processes, each with a client of its own.
TEST_F(S3Clients, DaskReadsAStoreWithSeveralProcesses) {
  if (!imports("boto3, dask.array, distributed, zarr"))
    GTEST_SKIP() << "no python3-boto3, python3-distributed and python3-zarr";
  check(std::string(kBoto) + R"(
import collections.abc
class Store(collections.abc.MutableMapping):
    def __init__(self, url, prefix): self.url, self.prefix, self.made = url, prefix, None
    def __getstate__(self): return self.url, self.prefix
    def __setstate__(self, state): self.__init__(*state)
    @property
    def client(self):
        if not self.made: self.made = client(self)
        return self.made
    def __getitem__(self, key):
        try: return self.client.get_object(Bucket='f.h5', Key=self.prefix + key)['Body'].read()
        except self.client.exceptions.NoSuchKey: raise KeyError(key)
    def __iter__(self):
        for p in self.client.get_paginator('list_objects_v2').paginate(Bucket='f.h5', Prefix=self.prefix):
            for o in p.get('Contents', []): yield o['Key'][len(self.prefix):]
    def __len__(self): return sum(1 for _ in self)
    def __setitem__(self, key, value): raise OSError('read-only')
    __delitem__ = __setitem__
if __name__ == '__main__':
    import dask.array, distributed
    with Serve('--s3', '--s3-key-file=key', 'f.h5') as s, h5py.File('f.h5') as f:
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
            with distributed.Client(cluster):
                array = dask.array.from_zarr(Store(s.url, '.h5/plain.zarr/deflated/'))
                assert array.mean().compute() == f['deflated'][()].mean()
)");
}

// Over FUSE; without it there is nothing to mount.
TEST_F(S3Clients, S3fsAndRcloneMountABucket) {
  if (!has("s3fs") && !has("rclone")) GTEST_SKIP() << "no s3fs and no rclone";
  if (!has("fusermount3") || in("test -w /dev/fuse").code != 0) GTEST_SKIP() << "no /dev/fuse";
  check(R"(
open('key', 'w').write('reader:a_secret_of_the_tests\n'); os.chmod('key', 0o600)
os.mkdir('there')
import shutil
def mounted(command, look):
    if not shutil.which(command[0]): return
    # There is no encryption, so the authorities that this machine trusts are of no use.
    more = {k: v for k, v in os.environ.items() if k != 'AWS_CA_BUNDLE'}
    process = subprocess.Popen(command, stdout=open('out', 'w'), stderr=subprocess.STDOUT, env=more)
    try:
        for _ in range(300):
            if os.path.ismount('there'): break
            time.sleep(0.1)
        assert os.path.ismount('there'), open('out').read()
        look()
        try: open('there/new', 'w').write('x'); assert False
        except OSError: pass
    finally:
        subprocess.run(['fusermount3', '-uz', 'there']); process.terminate(); process.wait(60)
def data():
    assert {'x', 'group', 'deflated'} <= set(os.listdir('there')), os.listdir('there')
    for name in ('x', 'group/image', 'deflated'):
        assert open('there/' + name, 'rb').read() == f[name][()].tobytes(), name
def views():
    assert (np.load('there/npy/group/image.npy') == f['group/image'][()]).all()
    table = os.path.abspath('there/parquet/x.parquet')
    if 'H5MOUNT_NODE_MODULES' in os.environ:
        open('q.mjs', 'w').write("""
import {DuckDBInstance} from '@duckdb/node-api';
const c = await (await DuckDBInstance.create()).connect();
const r = await c.runAndReadAll("SELECT count(*)::INT, sum(value)::INT FROM '%s'");
console.log(JSON.stringify(r.getRows()));
""" % table)
        if not os.path.exists('node_modules'):
            os.symlink(os.environ['H5MOUNT_NODE_MODULES'] + '/node_modules', 'node_modules')
        if os.path.exists('node_modules/@duckdb/node-api'):
            assert subprocess.check_output(['node', 'q.mjs']) == b'[[1000,499500]]\n'
with Serve('--s3', '--s3-key-file=key', 'f.h5') as s, h5py.File('f.h5') as f:
    url = s.url.rstrip('/')
    for below, look in (('', data), ('/.h5', views)):
        mounted(['rclone', 'mount', ':s3:f.h5' + below, 'there', '--s3-provider=Other',
                 '--s3-endpoint=' + url, '--s3-access-key-id=reader',
                 '--s3-secret-access-key=a_secret_of_the_tests', '--read-only',
                 '--config=' + os.getcwd() + '/none'], look)
        mounted(['s3fs', 'f.h5' + (below and ':' + below), 'there', '-f', '-o',
                 'ro,use_path_request_style,passwd_file=key,url=' + url], look)
)");
}

}  // namespace
}  // namespace h5mount::test

#!/usr/bin/env python3
"""An HTTP server for tests of URLs: it counts, delays, breaks, lies, and verifies signatures of S3.

    far_server.py DIRECTORY [--delay SECONDS] [--secret KEY:SECRET] [--region REGION] [--port PORT]

Prints its port. GET /PATH gives DIRECTORY/PATH, whole or one range of it; /BUCKET/?list-type=2 lists the
files below DIRECTORY/BUCKET as S3 does; /.count gives the number of requests so far, /.requests a JSON list
of [path, range, authorization, other fields], /.spans one of [when it came, when it was answered, bytes of
the body]. GET /DIRECTORY/ gives links to its files. What it is to do wrong is said in the path's first part,
/!WHAT[=VALUE][,WHAT…]/PATH, or for all that follow by /.set?WHAT[=VALUE],…:

    fail=N:STATUS   the next N requests get STATUS      silent=N     the next N get no answer
    retry=S         with Retry-After: S                 reset=BYTES  the next body ends after BYTES
    trickle=N       N bytes a second                    whole        200 with the whole object
    shifted         another range than was asked for    length=N     a total length of N
    tag=TEXT        that ETag, tag=- none               time=TEXT    that Last-Modified
    gzip            says that it is encoded             to=URL       307 to URL
    long            more bytes than it says             gone         404
    login=USER:PW   401 but for that user           page=N      N keys a page at most
    deny=N:STATUS   as fail, for lists only         unsaid      no Content-Length, the connection ends
    star            no length in Content-Range          unit=TEXT    the range's unit, bytes else
    stall=BYTES     each body ends after BYTES, and the connection does not
    stuck           each page of a list is the first one
    html=HOW        200 with a login page: sized, chunked, closed (ended by the connection) or large
"""
import argparse, base64, datetime, hashlib, hmac, json, os, socket, threading, time, urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

STATE = {"count": 0, "most": 0, "now": 0, "requests": [], "spans": [], "faults": {}, "left": {}}
LOCK = threading.Lock()


def canonical(handler, names, payload):
    path, _, query = handler.path.partition("?")
    pairs = sorted(
        tuple(
            urllib.parse.quote(urllib.parse.unquote(x), safe="-_.~") for x in (part.split("=", 1) + [""])[:2]
        )
        for part in query.split("&")
        if part
    )
    fields = "".join(f"{n}:{' '.join(handler.headers.get(n, '').split())}\n" for n in names)
    path = urllib.parse.quote(urllib.parse.unquote_to_bytes(path), safe="/-_.~")
    return "\n".join(
        [handler.command, path, "&".join("=".join(p) for p in pairs), fields, ";".join(names), payload]
    )


def signature_fits(handler, secret, region):
    """Whether the Authorization field is that of this request, by the S3 API Reference."""
    field = handler.headers.get("Authorization", "")
    if not field.startswith("AWS4-HMAC-SHA256 "):
        return False
    parts = dict(p.strip().split("=", 1) for p in field.split(" ", 1)[1].split(","))
    key, day, of, service, end = parts["Credential"].split("/")
    when = handler.headers.get("x-amz-date", "")
    age = abs(datetime.datetime.utcnow() - datetime.datetime.strptime(when, "%Y%m%dT%H%M%SZ"))
    names = parts["SignedHeaders"].split(";")
    known, word = secret.split(":", 1)
    if (key, of, service, end, day) != (known, region, "s3", "aws4_request", when[:8]) or age.seconds > 900:
        return False
    if "host" not in names or any(
        n.lower() not in names for n in handler.headers if n.lower().startswith("x-amz-")
    ):
        return False
    text = canonical(handler, names, handler.headers.get("x-amz-content-sha256", ""))
    to_sign = "\n".join(
        ["AWS4-HMAC-SHA256", when, f"{day}/{of}/s3/aws4_request", hashlib.sha256(text.encode()).hexdigest()]
    )
    step = ("AWS4" + word).encode()
    for part in (day, of, "s3", "aws4_request", to_sign):
        step = hmac.new(step, part.encode(), hashlib.sha256).digest()
    return step.hex() == parts["Signature"]


def keys_below(directory):
    """The paths of all files, as bytes in the order of S3."""
    top = os.fsencode(directory)
    return sorted(
        os.path.relpath(os.path.join(at, name), top) for at, _, names in os.walk(top) for name in names
    )


def list_page(directory, query, most):
    """A page of ListObjectsV2. A token is the key, or the common prefix, that the page before ended with."""
    quoted = urllib.parse.quote_from_bytes
    prefix, slash = query.get(b"prefix", b""), query.get(b"delimiter", b"")
    most = min(most, int(query.get(b"max-keys", b"1000")))
    after, contents, shared, last, more = (
        base64.b64decode(query.get(b"continuation-token", b"")),
        "",
        "",
        b"",
        False,
    )
    count = 0
    for key in keys_below(directory):
        at = key.find(slash, len(prefix)) if slash else -1
        place = key if at < 0 else key[: at + 1]
        if not key.startswith(prefix) or place <= after or place == last:
            continue
        if count == most:
            more = True
            break
        count, last = count + 1, place
        if at >= 0:
            shared += f"<CommonPrefixes><Prefix>{quoted(place)}</Prefix></CommonPrefixes>"
            continue
        stat = os.stat(os.path.join(os.fsencode(directory), key))
        when = datetime.datetime.utcfromtimestamp(int(stat.st_mtime)).isoformat()
        contents += (
            f"<Contents><Key>{quoted(key)}</Key><LastModified>{when}.000Z</LastModified>"
            f"<ETag>&quot;{stat.st_ino:x}-{stat.st_mtime_ns:x}&quot;</ETag>"
            f"<Size>{stat.st_size}</Size></Contents>"
        )
    token = (
        f"<NextContinuationToken>{base64.b64encode(last).decode()}</NextContinuationToken>" if more else ""
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult><EncodingType>url</EncodingType>'
        f"<IsTruncated>{str(more).lower()}</IsTruncated>{token}{contents}{shared}</ListBucketResult>"
    ).encode()


def parse_faults(text):
    return dict((part.split("=", 1) + [""])[:2] for part in text.split(",") if part)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in fields:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def control(self, path):
        if path == "/.count":
            return self.answer(200, str(STATE["count"]).encode())
        if path == "/.most":
            return self.answer(200, str(STATE["most"]).encode())
        if path == "/.requests":
            return self.answer(200, json.dumps(STATE["requests"]).encode())
        if path == "/.spans":
            with LOCK:
                spans = [[span[0], span[1] or time.monotonic(), span[2]] for span in STATE["spans"]]
            return self.answer(200, json.dumps(spans).encode())
        if path == "/.reset":
            STATE.update(count=0, most=0, requests=[], spans=[])
        elif path.startswith("/.set"):
            STATE["faults"] = parse_faults(urllib.parse.unquote(path.partition("?")[2]))
            STATE["left"] = {}
        return self.answer(200, b"")

    def once(self, faults, what, default=None):
        """Whether the fault WHAT=N:VALUE is to be shown now: N times in all."""
        if what not in faults:
            return None
        number, _, value = faults[what].partition(":")
        with LOCK:
            left = STATE["left"].setdefault(what + faults[what], int(number or 1))
            STATE["left"][what + faults[what]] = left - 1
        return (value or default or "1") if left > 0 else None

    def do_GET(self):
        if self.path.startswith("/."):
            return self.control(self.path)
        with LOCK:
            STATE["count"] += 1
            STATE["now"] += 1
            STATE["most"] = max(STATE["most"], STATE["now"])
            STATE["requests"].append(
                [
                    self.path,
                    self.headers.get("Range"),
                    self.headers.get("Authorization"),
                    {k.lower(): v for k, v in self.headers.items()},
                ]
            )
            self.span = [time.monotonic(), None, 0]
            STATE["spans"].append(self.span)
        try:
            self.serve()
        except (BrokenPipeError, ConnectionResetError):
            pass
        finally:
            with LOCK:
                STATE["now"] -= 1
                self.span[1] = time.monotonic()

    do_HEAD = do_GET

    def serve(self):
        path, faults = self.path.partition("?")[0], dict(STATE["faults"])
        if path.startswith("/!"):
            said, _, rest = path[2:].partition("/")
            faults.update(parse_faults(urllib.parse.unquote(said)))
            path = "/" + rest
        time.sleep(float(faults.get("delay", ARGS.delay)))
        if self.once(faults, "silent"):
            self.close_connection = True
            self.rfile.read(1)  # until the client hangs up
            return
        status = self.once(faults, "fail")
        if status:
            extra = {"Retry_After": faults["retry"]} if "retry" in faults else {}
            return self.answer(int(status), b"no", **extra)
        if "to" in faults:
            return self.answer(307, b"", Location=faults["to"].replace("|", "/"))
        if "login" in faults:
            wanted = "Basic " + base64.b64encode(faults["login"].encode()).decode()
            if self.headers.get("Authorization") != wanted:
                return self.answer(401, b"")
        if ARGS.secret and not signature_fits(self, ARGS.secret, ARGS.region):
            named = self.headers.get("Authorization", "")
            extra = {} if f"/{ARGS.region}/" in named else {"x_amz_bucket_region": ARGS.region}
            return self.answer(403, b"", **extra)
        if "html" in faults:
            return self.send_page(faults["html"])
        name = os.path.join(ARGS.directory, urllib.parse.unquote(path).lstrip("/"))
        query = dict(
            p.split(b"=", 1)
            for p in map(urllib.parse.unquote_to_bytes, self.path.partition("?")[2].split("&"))
            if b"=" in p
        )
        if b"list-type" in query:
            denied = self.once(faults, "deny")
            if denied or not os.path.isdir(name):
                return self.answer(int(denied or 404), b"<Error/>")
            if "stuck" in faults:
                query.pop(b"continuation-token", None)
            return self.answer(200, list_page(name, query, int(faults.get("page", 1000))))
        if path.endswith("/") and os.path.isdir(name):
            names = map(urllib.parse.quote, sorted(os.listdir(name)))
            links = "".join(f'<a href="{entry}">{entry}</a>\n' for entry in names)
            return self.answer(200, f"<html><body>{links}</body></html>".encode(), Content_Type="text/html")
        if "gone" in faults or not os.path.isfile(name):
            return self.answer(404, b"")
        with open(name, "rb") as file:
            self.give(file, faults)

    def give(self, file, faults):
        stat = os.fstat(file.fileno())  # of the file that is read, whatever has its name by now
        size = int(faults.get("length", stat.st_size))
        fields = {
            "ETag": f'"{stat.st_ino:x}-{stat.st_mtime_ns:x}-{stat.st_size:x}"',
            "Last_Modified": self.date_time_string(int(stat.st_mtime)),
        }
        if "tag" in faults:
            fields["ETag"] = faults["tag"]
        if "time" in faults:
            fields["Last_Modified"] = faults["time"]
        fields = {k: v for k, v in fields.items() if v != "-"}
        if "gzip" in faults:
            fields["Content_Encoding"] = "gzip"
        asked = self.headers.get("Range")
        begin, end, status = 0, size, 200
        if asked and "whole" not in faults:
            first, last = asked.split("=")[1].split("-")
            begin, end, status = int(first), min(int(last) + 1, size) if last else size, 206
            if begin >= size:
                return self.answer(416, b"", Content_Range=f"bytes */{size}")
            moved = 1 if "shifted" in faults else 0
            fields[
                "Content_Range"
            ] = f"{faults.get('unit', 'bytes')} {begin + moved}-{end - 1}/{'*' if 'star' in faults else size}"
        file.seek(min(begin, stat.st_size))  # behind its end are zeros
        body = file.read(end - begin)
        body += bytes(end - begin - len(body))
        if "long" in faults:
            body += b"x" * 100
        self.send_body(status, body, fields, faults)

    def send_page(self, how):
        page = b"<!DOCTYPE html><html><head><title>Log in</title></head><body>Please log in.</body></html>"
        page += b" " * (3 << 20) if how == "large" else b""
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        if how in ("sized", "large"):
            self.send_header("Content-Length", str(len(page)))
        elif how == "chunked":
            self.send_header("Transfer-Encoding", "chunked")
            page = b"%x\r\n%s\r\n0\r\n\r\n" % (len(page), page)
        self.close_connection = how == "closed"
        self.end_headers()
        self.wfile.write(page)

    def send_body(self, status, body, fields, faults):
        cut = self.once(faults, "reset", "0")
        self.send_response(status)
        if "unsaid" in faults:
            self.close_connection = True
        else:
            fields["Content_Length"] = str(len(body))
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()
        if self.command == "HEAD":
            return
        self.span[2] = len(body)
        if cut is not None:
            self.wfile.write(body[: int(cut)])
            self.wfile.flush()
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        if "stall" in faults:
            self.wfile.write(body[: int(faults["stall"])])
            self.close_connection = True
            self.rfile.read(1)  # until the client hangs up
            return
        if "trickle" not in faults:
            self.send_whole(body)
            return
        self.send_slowly(body, int(faults["trickle"]))

    def send_whole(self, body):
        """A client that asked for more than it wants hangs up: then what was sent counts."""
        piece = 256 << 10
        for at in range(0, len(body), piece):
            self.span[2] = min(at + piece, len(body))
            self.wfile.write(body[at : at + piece])

    def send_slowly(self, body, pace):
        for at in range(0, len(body), max(pace // 10, 1)):
            self.wfile.write(body[at : at + max(pace // 10, 1)])
            self.wfile.flush()
            time.sleep(0.1 if pace >= 10 else 1.0 / pace)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        pass


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("--delay", type=float, default=0)
    parser.add_argument("--secret", default="")
    parser.add_argument("--region", default="us-east-1")
    parser.add_argument("--port", type=int, default=0)
    ARGS = parser.parse_args()
    server = Server(("127.0.0.1", ARGS.port), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()

#!/usr/bin/env python3
"""The services that issue credentials of AWS, for tests: STS, a container's, EC2's metadata (version 2).

    key_server.py DIRECTORY [--expires SECONDS]

Prints its port. Each set of credentials is the keys AKID and se/cret with a session token of its own,
token-1, token-2 and so on, valid for SECONDS. /.requests is a JSON list of [method, path, fields, body],
/.count their number.

    POST /                      STS: AssumeRoleWithWebIdentity for web-token, AssumeRole for who signs as BASE
    GET /container              the container's, for the Authorization container-token
    PUT /latest/api/token, …    EC2's
"""
import argparse, datetime, json, urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

STATE = {"requests": [], "issued": 0}
META = "/latest/meta-data/iam/security-credentials/"


def issue():
    STATE["issued"] += 1
    until = datetime.datetime.utcnow() + datetime.timedelta(seconds=ARGS.expires)
    return {
        "AccessKeyId": "AKID",
        "SecretAccessKey": "se/cret",
        "Token": f"token-{STATE['issued']}",
        "Expiration": until.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "Code": "Success",
    }


def xml_of(action):
    keys = issue()
    keys["SessionToken"] = keys.pop("Token")
    fields = "".join(f"<{name}>{value}</{name}>" for name, value in keys.items())
    return (
        f'<{action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><{action}Result><Credentials>'
        f"{fields}</Credentials></{action}Result></{action}Response>"
    )


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, text=""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def handle_all(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        if self.path == "/.requests":
            return self.answer(200, json.dumps(STATE["requests"]))
        if self.path == "/.count":
            return self.answer(200, str(len(STATE["requests"])))
        fields = {k.lower(): v for k, v in self.headers.items()}
        STATE["requests"].append([self.command, self.path, fields, body])
        if self.command == "POST":
            return self.sts(dict(urllib.parse.parse_qsl(body)), fields.get("authorization", ""))
        if self.path == "/container":
            fits = fields.get("authorization") == "container-token"
            return self.answer(200, json.dumps(issue())) if fits else self.answer(403)
        if self.command == "PUT" and self.path == "/latest/api/token":
            return self.answer(200 if "x-aws-ec2-metadata-token-ttl-seconds" in fields else 400, "meta-token")
        if fields.get("x-aws-ec2-metadata-token") != "meta-token":
            return self.answer(401)
        if self.path == META:
            return self.answer(200, "the-role\n")
        return self.answer(200, json.dumps(issue())) if self.path == META + "the-role" else self.answer(404)

    def sts(self, form, signed):
        action = form.get("Action", "")
        fits = {
            "AssumeRoleWithWebIdentity": form.get("WebIdentityToken") == "web-token",
            "AssumeRole": "Credential=BASE/" in signed and "/sts/aws4_request" in signed,
        }.get(action)
        if not fits or form.get("RoleArn") != "arn:role" or not form.get("RoleSessionName"):
            return self.answer(403, "<ErrorResponse/>")
        return self.answer(200, xml_of(action))

    do_GET = do_PUT = do_POST = handle_all


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("--expires", type=int, default=3600)
    ARGS = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    server.serve_forever()

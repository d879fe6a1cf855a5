"""A client of S3's that takes its documents apart."""
import urllib.parse
import xml.etree.ElementTree as ET


def quote(text):
    return urllib.parse.quote(text, safe="-._~", errors="surrogateescape")


def unquote(text):
    return urllib.parse.unquote(text, errors="surrogateescape")


def plain(tag):
    return tag.split("}")[1] if "}" in tag else tag


class Listing:
    """A page of a listing whose keys were asked for with encoding-type=url."""

    def __init__(self, answer):
        assert answer.status == 200, (answer.status, answer.data)
        self.keys, self.prefixes, self.sizes, self.tags, self.values = [], [], {}, {}, {}
        for e in ET.fromstring(answer.data):
            one = {plain(c.tag): c.text or "" for c in e}
            if plain(e.tag) == "Contents":
                key = unquote(one["Key"])
                self.keys.append(key)
                self.sizes[key] = int(one["Size"])
                self.tags[key] = one.get("ETag")
            elif plain(e.tag) == "CommonPrefixes":
                self.prefixes.append(unquote(one["Prefix"]))
            else:
                self.values[plain(e.tag)] = e.text or ""
        self.more = self.values["IsTruncated"] == "true"


def page(s, bucket, **query):
    query = {k.replace("_", "-"): str(v) for k, v in query.items()}
    words = "&".join("%s=%s" % (k, quote(v)) for k, v in {"encoding-type": "url", **query}.items())
    return Listing(s.get("/%s?%s" % (bucket, words)))


def pages(s, bucket, version=2, **query):
    """All pages of a listing, of either version."""
    out = []
    if version == 2:
        query["list_type"] = 2
    for _ in range(10000):
        out.append(page(s, bucket, **query))
        if not out[-1].more:
            return out
        values = out[-1].values
        if version == 2:
            query["continuation_token"] = values["NextContinuationToken"]
        else:
            query["marker"] = unquote(values["NextMarker"])
    raise AssertionError("no end")


def all_of(found):
    return [k for p in found for k in p.keys], [k for p in found for k in p.prefixes]


def code_of(answer):
    one = {plain(e.tag): e.text for e in ET.fromstring(answer.data)}
    return answer.status, one["Code"]


def byte_order(text):
    return text.encode("utf-8", "surrogateescape")

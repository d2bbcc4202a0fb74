#!/usr/bin/env python3
"""The recipes of docs/span-digest.md, once more and from the text alone.

usage: span_vectors.py SPAN_DIGEST_MD

Checks every test vector of the page against this implementation, which shares nothing with the one
in src/domain. Exit status 1 and a line for each vector that differs.
"""

import hashlib
import json
import pathlib
import re
import sys

AXES = ("model tokenizer serializer position policy admitter weights adapter dtype kv_quant rope "
        "page_tokens layers shard layout").split()
FENCE = re.compile(r"^```json\n(.*?)^```$", re.MULTILINE | re.DOTALL)
KINDS = {"span", "chain", "context", "refused"}


class Refused(Exception):
    pass


def refuse_if(wrong):
    if wrong:
        raise Refused()


def u64(value):
    return value.to_bytes(8, "little")


def field(number, payload):
    return bytes([number]) + u64(len(payload)) + payload


def message_of(tag, fields):
    return u64(len(tag)) + tag.encode() + b"".join(field(n, p) for n, p in fields)


def digest_of(message):
    return hashlib.blake2b(message, digest_size=32).digest()


def check_digest(digest):
    refuse_if(len(digest) != 32 or not any(digest))


def check_items(items, token_count):
    free_from = -2**63
    for first, count, digest in items:
        check_digest(digest)
        refuse_if(count == 0 or first + count > 2**63 - 1)
        refuse_if(first >= token_count or first + count <= 0)
        refuse_if(first < free_from)
        free_from = first + count


def span_message(parent, tokens, items):
    refuse_if(not tokens)
    if parent is not None:
        check_digest(parent)
    check_items(items, len(tokens))
    return message_of("cxlpool-span-1", [
        (1, parent or b""),
        (2, b"".join(token.to_bytes(4, "little") for token in tokens)),
        (3, b"".join(first.to_bytes(8, "little", signed=True) + u64(count) + digest
                     for first, count, digest in items)),
    ])


def span_chain(parent, tokens, items, page_tokens):
    check_items(items, len(tokens))
    digests = []
    for first in range(0, len(tokens) - page_tokens + 1, page_tokens):
        here = [(at - first, count, digest) for at, count, digest in items
                if at < first + page_tokens and at + count > first]
        parent = digest_of(span_message(parent, tokens[first:first + page_tokens], here))
        digests.append(parent)
    return digests


def context_message(axes):
    return message_of("cxlpool-context-1", [
        (AXES.index(word), axes[word].encode("ascii"))
        for word in sorted(axes, key=AXES.index)])


def from_hex(text):
    return None if text is None else bytes.fromhex(text)


def items_of(vector):
    return [(item["first_token"], item["token_count"], from_hex(item["digest"]))
            for item in vector["items"]]


def check(vector):
    """What is wrong with a vector, or None."""
    kind = vector["kind"]
    if kind == "context":
        message = context_message(vector["axes"])
    else:
        parent = from_hex(vector["parent"])
        items = items_of(vector)
        if kind == "refused":
            try:
                span_message(parent, vector["tokens"], items)
            except Refused:
                return None
            return "it was not refused"
        if kind == "chain":
            got = [d.hex() for d in
                   span_chain(parent, vector["tokens"], items, vector["page_tokens"])]
            return None if got == vector["digests"] else f"digests {got}"
        message = span_message(parent, vector["tokens"], items)
    if "message" in vector and message.hex() != "".join(vector["message"]):
        return f"message {message.hex()}"
    got = digest_of(message).hex()
    return None if got == vector["digest"] else f"digest {got}"


def main():
    text = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
    vectors = [vector for block in FENCE.findall(text) for vector in json.loads(block)]
    wrong = 0
    for vector in vectors:
        difference = check(vector)
        if difference is not None:
            wrong += 1
            print(f"{vector['name']}: {difference}")
    print(f"{len(vectors)} vectors, {wrong} wrong")
    # A page that lost its vectors is no page that agrees.
    return 1 if wrong or {vector["kind"] for vector in vectors} != KINDS else 0


if __name__ == "__main__":
    sys.exit(main())

"""An S3 server for tests (moto, which checks signatures and permissions), and an independent client for it (boto3).

    python bucket.py serve BUCKET                 prints PORT ID SECRET ID2 SECRET2; ends when its input does
    python bucket.py fetch PORT ID SECRET BUCKET DIR        downloads every object; prints how many there are
    python bucket.py check PORT ID SECRET PAGES.jsonl       reads every page of an export from where it says it is

The first keys may list, put and get; the second may list only. Nobody may delete.
"""

import io
import json
import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

# Everything after the six requests that set it up has to be signed.
os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "7"


def client(service, port, key="setup", secret="setup"):
    import boto3

    url = f"http://127.0.0.1:{port}"
    return boto3.client(
        service, endpoint_url=url, region_name="us-east-1", aws_access_key_id=key, aws_secret_access_key=secret
    )


def serve(bucket):
    import logging

    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    iam = client("iam", port)
    words = [str(port)]
    for user, actions in [("writer", ["s3:PutObject", "s3:GetObject", "s3:ListBucket"]), ("reader", ["s3:ListBucket"])]:
        iam.create_user(UserName=user)
        key = iam.create_access_key(UserName=user)["AccessKey"]
        statement = {"Effect": "Allow", "Action": actions, "Resource": "*"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        iam.put_user_policy(UserName=user, PolicyName="may", PolicyDocument=policy)
        words += [key["AccessKeyId"], key["SecretAccessKey"]]
    client("s3", port).create_bucket(Bucket=bucket)
    print(" ".join(words), flush=True)
    sys.stdin.read()


def fetch(port, key, secret, bucket, folder):
    s3 = client("s3", port, key, secret)
    n = 0
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
        for item in page.get("Contents", []):
            body = s3.get_object(Bucket=bucket, Key=item["Key"])["Body"].read()
            Path(folder, item["Key"].replace("/", "_")).write_bytes(body)
            n += 1
    print(n)


def check(port, key, secret, pages):
    from warcio.archiveiterator import ArchiveIterator

    s3 = client("s3", port, key, secret)
    n = 0
    for line in Path(pages).read_text().splitlines():
        page = json.loads(line)
        place = urlsplit(page["archive_file"])
        if place.scheme != "s3":
            sys.exit(f"{page['url']} is at {page['archive_file']}")
        piece = s3.get_object(
            Bucket=place.netloc, Key=place.path.lstrip("/"), Range=f"bytes={page['archive_offset']}-"
        )["Body"].read()
        record = next(iter(ArchiveIterator(io.BytesIO(piece), check_digests="raise")))
        record.content_stream().read()
        if record.rec_type not in ("response", "revisit"):
            sys.exit(f"{page['url']}: a {record.rec_type} is there")
        if record.rec_headers.get_header("WARC-Target-URI") != page["url"]:
            sys.exit(f"{page['url']}: {record.rec_headers.get_header('WARC-Target-URI')} is there")
        n += 1
    print(n)


if __name__ == "__main__":
    {"serve": serve, "fetch": fetch, "check": check}[sys.argv[1]](*sys.argv[2:])

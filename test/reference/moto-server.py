"""Serves one of moto's services on a port of this machine until it is ended: `moto-server.py <sqs|dynamodb> <port>`.

moto's own command answers every request in a thread, and its DynamoDB takes no lock: of two conditional writes at once both may
hold. DynamoDB is therefore served one request at a time. SQS needs the threads, since a receive that waits keeps one.
"""

import logging
import sys

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple

service, port = sys.argv[1], int(sys.argv[2])
logging.getLogger("werkzeug").setLevel(logging.ERROR)
app = DomainDispatcherApplication(create_backend_app)
run_simple("127.0.0.1", port, app, threaded=service == "sqs")

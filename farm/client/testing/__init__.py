"""A farm that renders nothing: the HTTP API over memory, for tests of whatever speaks to a farm.

It keeps what is sent to it, tells what a test makes happen, and can be away or send damaged bytes.
The tests of the client hold it and the real API to the same contract.
"""

from farm.client.testing.farm import Call, FakeFarm
from farm.client.testing.serve import served

__all__ = ["Call", "FakeFarm", "served"]

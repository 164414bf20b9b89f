"""The records of internal topics in the notation of `schema`: one text a topic.

Each message is the union of its versions in Kafka 3.6 to 4.4. The early access to KIP-848 in 3.6 and 3.7 wrote
consumer groups' records of version 0 with other fields; no later broker reads them either.
"""

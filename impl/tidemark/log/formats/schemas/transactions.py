"""The records of `__transaction_state`."""

from __future__ import annotations

TEXT = """
TransactionLogKey 0 type 0
    transactionalId string

TransactionLogValue 0-1 flexible 1+ type 0
    producerId int64
    previousProducerId int64 tag 0 = -1
    nextProducerId int64 tag 1 = -1
    producerEpoch int16
    nextProducerEpoch int16 tag 3 = -1
    transactionTimeoutMs int32
    transactionStatus int8
    transactionPartitions []?
        topic string
        partitionIds []int32
    transactionLastUpdateTimestampMs int64
    transactionStartTimestampMs int64
    clientTransactionVersion int16 tag 2
"""

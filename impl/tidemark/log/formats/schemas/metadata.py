"""The records of `__cluster_metadata`, in the order of their types."""

from __future__ import annotations

TEXT = """
RegisterBrokerRecord 0-4 flexible 0+ type 0
    brokerId int32
    isMigratingZkBroker bool 2+
    incarnationId uuid
    brokerEpoch int64
    endPoints []
        name string
        host string
        port uint16
        securityProtocol int16
    features []
        name string
        minSupportedVersion int16
        maxSupportedVersion int16
    rack string?
    fenced bool = true
    inControlledShutdown bool 1+
    logDirs []uuid tag 0 3+
    cordonedLogDirs []uuid? tag 1 4+ = null

UnregisterBrokerRecord 0 flexible 0+ type 1
    brokerId int32
    brokerEpoch int64

TopicRecord 0 flexible 0+ type 2
    name string
    topicId uuid

PartitionRecord 0-2 flexible 0+ type 3
    partitionId int32 = -1
    topicId uuid
    replicas []int32
    isr []int32
    removingReplicas []int32
    addingReplicas []int32
    leader int32 = -1
    leaderRecoveryState int8 tag 0
    leaderEpoch int32 = -1
    partitionEpoch int32 = -1
    directories []uuid 1+
    eligibleLeaderReplicas []int32? tag 1 2+ = null
    lastKnownElr []int32? tag 2 2+ = null

ConfigRecord 0 flexible 0+ type 4
    resourceType int8
    resourceName string
    name string
    value string?

PartitionChangeRecord 0-2 flexible 0+ type 5
    partitionId int32 = -1
    topicId uuid
    isr []int32? tag 0 = null
    leader int32 tag 1 = -2
    replicas []int32? tag 2 = null
    removingReplicas []int32? tag 3 = null
    addingReplicas []int32? tag 4 = null
    leaderRecoveryState int8 tag 5 = -1
    directories []uuid? tag 8 1+ = null
    eligibleLeaderReplicas []int32? tag 6 2+ = null
    lastKnownElr []int32? tag 7 2+ = null

FenceBrokerRecord 0 flexible 0+ type 7
    id int32
    epoch int64

UnfenceBrokerRecord 0 flexible 0+ type 8
    id int32
    epoch int64

RemoveTopicRecord 0 flexible 0+ type 9
    topicId uuid

DelegationTokenRecord 0 flexible 0+ type 10
    owner string
    requester string
    renewers []string
    issueTimestamp int64
    maxTimestamp int64
    expirationTimestamp int64
    tokenId string

UserScramCredentialRecord 0 flexible 0+ type 11
    name string
    mechanism int8
    salt bytes
    storedKey bytes
    serverKey bytes
    iterations int32

FeatureLevelRecord 0 flexible 0+ type 12
    name string
    featureLevel int16

ClientQuotaRecord 0 flexible 0+ type 14
    entity []
        entityType string
        entityName string?
    key string
    value float64
    remove bool

ProducerIdsRecord 0 flexible 0+ type 15
    brokerId int32
    brokerEpoch int64 = -1
    nextProducerId int64

BrokerRegistrationChangeRecord 0-3 flexible 0+ type 17
    brokerId int32
    brokerEpoch int64
    fenced int8 tag 0
    inControlledShutdown int8 tag 1 1+
    logDirs []uuid tag 2 2+
    cordonedLogDirs []uuid? tag 3 3+ = null

AccessControlEntryRecord 0 flexible 0+ type 18
    id uuid
    resourceType int8
    resourceName string
    patternType int8
    principal string
    host string
    operation int8
    permissionType int8

RemoveAccessControlEntryRecord 0 flexible 0+ type 19
    id uuid

NoOpRecord 0 flexible 0+ type 20

ZkMigrationStateRecord 0 flexible 0+ type 21
    zkMigrationState int8

RemoveUserScramCredentialRecord 0 flexible 0+ type 22
    name string
    mechanism int8

BeginTransactionRecord 0 flexible 0+ type 23
    name string? tag 0 = null

EndTransactionRecord 0 flexible 0+ type 24

AbortTransactionRecord 0 flexible 0+ type 25
    reason string? tag 0 = null

RemoveDelegationTokenRecord 0 flexible 0+ type 26
    tokenId string

RegisterControllerRecord 0 flexible 0+ type 27
    controllerId int32
    incarnationId uuid
    zkMigrationReady bool
    endPoints []
        name string
        host string
        port uint16
        securityProtocol int16
    features []
        name string
        minSupportedVersion int16
        maxSupportedVersion int16

ClearElrRecord 0 flexible 0+ type 28
    topicName string

UnregisterControllerRecord 0 flexible 0+ type 29
    controllerId int32
"""

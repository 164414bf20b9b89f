"""The records of `__consumer_offsets`: offsets, classic groups and the consumer groups of KIP-848."""

from __future__ import annotations

TEXT = """
OffsetCommitKey 0 type 1
    group string
    topic string
    partition int32

OffsetCommitValue 0-4 flexible 4+ type 1
    offset int64
    leaderEpoch int32 3+ = -1
    metadata string
    commitTimestamp int64
    expireTimestamp int64 1 = -1
    topicId uuid tag 0

GroupMetadataKey 0 type 2
    group string

GroupMetadataValue 0-4 flexible 4+ type 2
    protocolType string
    generation int32
    protocol string?
    leader string?
    currentStateTimestamp int64 2+ = -1
    members []
        memberId string
        groupInstanceId string? 3+ = null
        clientId string
        clientHost string
        rebalanceTimeout int32 1+ = -1
        sessionTimeout int32
        subscription bytes
        assignment bytes

ConsumerGroupMetadataKey 0 type 3
    groupId string

ConsumerGroupMetadataValue 0 flexible 0+ type 3
    epoch int32
    metadataHash int64 tag 0

ConsumerGroupPartitionMetadataKey 0 type 4
    groupId string

ConsumerGroupPartitionMetadataValue 0 flexible 0+ type 4
    topics []
        topicId uuid
        topicName string
        numPartitions int32
        partitionMetadata []
            partition int32
            racks []string

ConsumerGroupMemberMetadataKey 0 type 5
    groupId string
    memberId string

ConsumerGroupMemberMetadataValue 0 flexible 0+ type 5
    instanceId string?
    rackId string?
    clientId string
    clientHost string
    subscribedTopicNames []string
    subscribedTopicRegex string?
    rebalanceTimeoutMs int32 = -1
    serverAssignor string?
    classicMemberMetadata {}? tag 0
        sessionTimeoutMs int32
        supportedProtocols []
            name string
            metadata bytes

ConsumerGroupTargetAssignmentMetadataKey 0 type 6
    groupId string

ConsumerGroupTargetAssignmentMetadataValue 0 flexible 0+ type 6
    assignmentEpoch int32
    assignmentTimestamp int64 tag 0

ConsumerGroupTargetAssignmentMemberKey 0 type 7
    groupId string
    memberId string

ConsumerGroupTargetAssignmentMemberValue 0 flexible 0+ type 7
    topicPartitions []
        topicId uuid
        partitions []int32

ConsumerGroupCurrentMemberAssignmentKey 0 type 8
    groupId string
    memberId string

ConsumerGroupCurrentMemberAssignmentValue 0 flexible 0+ type 8
    memberEpoch int32
    previousMemberEpoch int32
    state int8
    assignedPartitions []
        topicId uuid
        partitions []int32
        assignmentEpochs []int32? tag 0
    partitionsPendingRevocation []
        topicId uuid
        partitions []int32
        assignmentEpochs []int32? tag 0

ConsumerGroupRegularExpressionKey 0 type 16
    groupId string
    regularExpression string

ConsumerGroupRegularExpressionValue 0 flexible 0+ type 16
    topics []string
    version int64
    timestamp int64

ConsumerProtocolSubscription 0-3
    topics []string
    userData bytes? = null
    ownedPartitions [] 1+
        topic string 1+
        partitions []int32 1+
    generationId int32 2+ = -1
    rackId string? 3+ = null

ConsumerProtocolAssignment 0-3
    assignedPartitions []
        topic string
        partitions []int32
    userData bytes? = null
"""
